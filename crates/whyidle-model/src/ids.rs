//! Typed `u32` handles into the columns of a [`Trace`](crate::Trace).

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The row that this handle points at.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The handle of row `index`.
            ///
            /// # Panics
            /// Where a table would hold more than `u32::MAX` rows; readers stop before that.
            #[must_use]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("tables hold fewer than 2^32 rows"))
            }
        }
    };
}

handle!(
    /// An interned string.
    Sym
);
handle!(
    /// A row of [`HostEvents`](crate::HostEvents).
    HostId
);
handle!(
    /// A row of [`GpuActivities`](crate::GpuActivities).
    GpuId
);
handle!(
    /// A row of [`Trace::threads`](crate::Trace::threads).
    ThreadId
);
handle!(
    /// A row of [`Trace::streams`](crate::Trace::streams).
    StreamId
);

impl Sym {
    /// The empty string; every interner holds it first.
    pub const EMPTY: Self = Self(0);
}
