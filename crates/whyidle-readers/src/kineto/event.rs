//! One event as its raw parts: the JSON text of each member that whyidle uses, and
//! nothing interpreted. Both parsers produce exactly this, so they can be compared, and
//! everything that gives the parts a meaning is shared.

/// The JSON text of a value, without white space around it; empty: the member is missing.
pub(crate) type Raw<'a> = &'a [u8];

macro_rules! members {
    ($(#[$doc:meta])* $name:ident, $by_key:ident { $($field:ident = $key:literal $(| $other:literal)*,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct $name<'a> { $(pub(crate) $field: Raw<'a>,)* }

        impl<'a> $name<'a> {
            /// The place for the value of `key`, if it is one that is used.
            #[inline]
            pub(crate) fn $by_key(&mut self, key: &[u8]) -> Option<&mut Raw<'a>> {
                $(
                    if key == $key $(|| key == $other)* {
                        return Some(&mut self.$field);
                    }
                )*
                None
            }
        }
    };
}

members!(
    /// The members of an event object. Where a key is repeated, the last one counts.
    Event, slot {
        ph = b"ph",
        cat = b"cat",
        name = b"name",
        pid = b"pid",
        tid = b"tid",
        ts = b"ts",
        dur = b"dur",
    }
);

members!(
    /// The members of an event's `args`.
    Args, slot {
        external = b"External id" | b"external id",
        correlation = b"correlation",
        device = b"device",
        stream = b"stream",
        bytes = b"bytes",
        grid = b"grid",
        block = b"block",
        dims = b"Input Dims" | b"Input dims",
        types = b"Input type",
        inputs = b"Concrete Inputs",
        autograd = b"Sequence number",
        forward_thread = b"Fwd thread id",
        stack = b"Call stack",
        label = b"name",
        memory_bytes = b"Bytes",
        total_allocated = b"Total Allocated",
        total_reserved = b"Total Reserved",
        device_type = b"Device Type",
        device_id = b"Device Id",
        sync_kind = b"cuda_sync_kind",
        wait_on_stream = b"wait_on_stream",
        wait_on_record = b"wait_on_cuda_event_record_corr_id",
        collective = b"Collective name",
        in_elements = b"In msg nelems",
        out_elements = b"Out msg nelems",
        dtype = b"dtype",
        group = b"Process Group Name",
        group_description = b"Process Group Description",
        group_size = b"Group size",
        ranks = b"Process Group Ranks",
        sequence = b"Seq",
        rank = b"Rank",
    }
);
