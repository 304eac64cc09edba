//! One event as its raw parts: the JSON text of each member that whyidle uses, and
//! nothing interpreted. Both parsers produce exactly this, so they can be compared, and
//! everything that gives the parts a meaning is shared.

/// The JSON text of a value, without white space around it; empty: the member is missing.
pub(crate) type Raw<'a> = &'a [u8];

macro_rules! members {
    (
        $(#[$doc:meta])* $parts:ident of
        $(#[$key_doc:meta])* $member:ident { $($variant:ident = $key:literal $(| $other:literal)*,)* }
    ) => {
        $(#[$key_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum $member { $($variant,)* }

        impl $member {
            const COUNT: usize = [$(Self::$variant),*].len();

            /// The member called `key`, if it is one that is used.
            pub(crate) fn by_key(key: &[u8]) -> Option<Self> {
                match key {
                    $($key $(| $other)* => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $parts<'a>([Raw<'a>; $member::COUNT]);

        impl Default for $parts<'_> {
            #[inline]
            fn default() -> Self {
                Self([&[]; $member::COUNT])
            }
        }

        impl<'a> std::ops::Index<$member> for $parts<'a> {
            type Output = Raw<'a>;

            #[inline(always)]
            fn index(&self, member: $member) -> &Raw<'a> {
                &self.0[member as usize]
            }
        }

        impl std::ops::IndexMut<$member> for $parts<'_> {
            #[inline(always)]
            fn index_mut(&mut self, member: $member) -> &mut Self::Output {
                &mut self.0[member as usize]
            }
        }
    };
}

members!(
    /// The members of an event object. Where a key is repeated, the last one counts.
    Event of
    /// A member of an event object.
    Member {
        Ph = b"ph",
        Cat = b"cat",
        Name = b"name",
        Pid = b"pid",
        Tid = b"tid",
        Ts = b"ts",
        Dur = b"dur",
        Id = b"id",
        Args = b"args",
    }
);

members!(
    /// The members of an event's `args`.
    Args of
    /// A member of an event's `args`.
    Arg {
        External = b"External id" | b"external id",
        Correlation = b"correlation",
        Device = b"device",
        Stream = b"stream",
        Bytes = b"bytes",
        Grid = b"grid",
        Block = b"block",
        Dims = b"Input Dims" | b"Input dims",
        Types = b"Input type",
        Inputs = b"Concrete Inputs",
        Sequence = b"Sequence number",
        ForwardThread = b"Fwd thread id",
        Stack = b"Call stack",
        Label = b"name",
        AllocatorBytes = b"Bytes",
        TotalAllocated = b"Total Allocated",
        TotalReserved = b"Total Reserved",
        DeviceType = b"Device Type",
        DeviceId = b"Device Id",
        SyncKind = b"cuda_sync_kind",
        WaitOnStream = b"wait_on_stream",
        WaitOnRecord = b"wait_on_cuda_event_record_corr_id",
        Collective = b"Collective name",
        InElements = b"In msg nelems",
        OutElements = b"Out msg nelems",
        Dtype = b"dtype",
        Group = b"Process Group Name",
        GroupDescription = b"Process Group Description",
        GroupSize = b"Group size",
        GroupRanks = b"Process Group Ranks",
        GroupSequence = b"Seq",
        Rank = b"Rank",
        TaskType = b"Task Type",
        Connection = b"connection_id",
        NpuStream = b"Stream Id" | b"Physic Stream Id",
    }
);
