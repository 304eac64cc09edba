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
            const KEYS: &'static [(&'static [u8], Self)] =
                &[$(($key, Self::$variant), $(($other, Self::$variant),)*)*];
            const TABLE: [u8; 256] = {
                let (mut table, mut i) = ([u8::MAX; 256], 0);
                while i < Self::KEYS.len() {
                    let slot = hash(Self::KEYS[i].0);
                    assert!(table[slot] == u8::MAX, "two keys share a slot: change the hash");
                    table[slot] = i as u8;
                    i += 1;
                }
                table
            };

            /// The member called `key`, if it is one that is used.
            #[inline(always)]
            pub(crate) fn by_key(key: &[u8]) -> Option<Self> {
                let &(name, member) = Self::KEYS.get(usize::from(Self::TABLE[hash(key)]))?;
                (name == key).then_some(member)
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

/// Tells the keys below apart: the compiler checks it.
#[inline(always)]
const fn hash(key: &[u8]) -> usize {
    let n = key.len();
    if n < 2 {
        return 0;
    }
    (n + key[0] as usize + key[n * 2 / 3] as usize * 4 + key[n - 1] as usize * 6) & 255
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
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_and_others_are_not() {
        for &(key, member) in Arg::KEYS {
            assert_eq!(Arg::by_key(key), Some(member));
        }
        for &(key, member) in Member::KEYS {
            assert_eq!(Member::by_key(key), Some(member));
        }
        for key in [&b""[..], b"x", b"id", b"bp", b"cbid", b"Ev Idx", b"Correlation"] {
            assert_eq!((Arg::by_key(key), Member::by_key(key)), (None, None));
        }
    }
}
