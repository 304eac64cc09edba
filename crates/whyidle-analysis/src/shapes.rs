//! Shapes and types of operators' inputs, parsed once per distinct text.
//!
//! The model keeps `Input Dims` and `Input type` as interned JSON texts. A trace of a million
//! events has a few hundred distinct ones. Anything that is no such text parses to nothing:
//! missing shapes are missing facts, never errors.

use rustc_hash::FxHashMap;
use whyidle_model::{HostId, Sym, Trace};

/// Element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// `double`.
    F64,
    /// `float`.
    F32,
    /// `c10::BFloat16`.
    BF16,
    /// `c10::Half`.
    F16,
    /// `c10::Float8_…`.
    F8,
    /// `long int`.
    I64,
    /// `int`.
    I32,
    /// `short`.
    I16,
    /// `signed char`, `unsigned char`, quantised bytes.
    I8,
    /// `bool`.
    Bool,
    /// `c10::complex<float>`.
    C64,
    /// `c10::complex<double>`.
    C128,
}

impl DType {
    /// Bytes per element.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::C128 => 16,
            Self::F64 | Self::I64 | Self::C64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::BF16 | Self::F16 | Self::I16 => 2,
            Self::F8 | Self::I8 | Self::Bool => 1,
        }
    }

    /// A real floating-point type.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::BF16 | Self::F16 | Self::F8)
    }

    /// A floating-point type of 16 bits.
    #[must_use]
    pub fn is_half(self) -> bool {
        matches!(self, Self::BF16 | Self::F16)
    }

    /// The type that C++ calls `name`, as the profiler writes it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim();
        let name = name.strip_prefix("struct ").unwrap_or(name);
        let name = name.strip_prefix("c10::").unwrap_or(name);
        Some(match name {
            "double" => Self::F64,
            "float" => Self::F32,
            "BFloat16" | "at::BFloat16" => Self::BF16,
            "Half" | "at::Half" => Self::F16,
            "long int" | "long" | "long long" | "__int64" | "unsigned long" | "uint64_t" | "int64_t" => {
                Self::I64
            }
            "int" | "unsigned int" | "int32_t" | "uint32_t" => Self::I32,
            "short" | "short int" | "unsigned short" | "int16_t" | "uint16_t" => Self::I16,
            "signed char" | "unsigned char" | "char" | "qint8" | "quint8" => Self::I8,
            "bool" => Self::Bool,
            "complex<float>" => Self::C64,
            "complex<double>" => Self::C128,
            _ if name.starts_with("Float8") => Self::F8,
            _ => return None,
        })
    }

    /// The type of a result of both, as the framework promotes: floats before integers, wider before
    /// narrower, bf16 with fp16 to fp32.
    #[must_use]
    pub(crate) fn promote(self, other: Self) -> Self {
        let rank = |of: Self| match of {
            Self::Bool => 0,
            Self::I8 => 1,
            Self::I16 => 2,
            Self::I32 => 3,
            Self::I64 => 4,
            Self::F8 => 5,
            Self::F16 | Self::BF16 => 6,
            Self::F32 => 7,
            Self::F64 => 8,
            Self::C64 => 9,
            Self::C128 => 10,
        };
        match (self, other) {
            (Self::F16, Self::BF16) | (Self::BF16, Self::F16) => Self::F32,
            _ if rank(self) >= rank(other) => self,
            _ => other,
        }
    }
}

/// Sides of a tensor; none for a scalar.
pub type Dims = Box<[i64]>;

/// One tensor among an operator's inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// Its sides, outermost first.
    pub dims: Dims,
    /// Its type; none where only the list it stands in is typed.
    pub dtype: Option<DType>,
    /// Which of the operator's arguments it is, counted from 0.
    pub position: u32,
}

impl Tensor {
    /// Number of elements: product of the sides.
    #[must_use]
    pub fn elements(&self) -> u64 {
        elements(&self.dims)
    }

    /// Bytes, where the type is known.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.dtype.map(|dtype| self.elements().saturating_mul(dtype.bytes()))
    }

    /// The last two sides of a tensor with at least three.
    #[must_use]
    pub fn matrix_of_batch(&self) -> Option<(i64, i64)> {
        match *self.dims {
            [.., _, rows, columns] => Some((rows, columns)),
            _ => None,
        }
    }
}

/// Product of sides; negative sides count as 0.
#[must_use]
pub fn elements(dims: &[i64]) -> u64 {
    dims.iter().map(|&side| u64::try_from(side).unwrap_or(0)).fold(1, u64::saturating_mul)
}

/// Handle of a parsed list of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InputsId(u32);

/// Parsed inputs by text.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    known: FxHashMap<(Sym, Sym), InputsId>,
    inputs: Vec<Box<[Tensor]>>,
}

impl Shapes {
    /// The tensors among the inputs of an operator, parsed if the text is new. None without shapes.
    pub fn parse(&mut self, trace: &Trace, operator: HostId) -> Option<InputsId> {
        let (dims, types) = (trace.host.dims[operator.index()], trace.host.types[operator.index()]);
        if dims == Sym::EMPTY {
            return None;
        }
        let inputs = &mut self.inputs;
        let id = *self.known.entry((dims, types)).or_insert_with(|| {
            let id = u32::try_from(inputs.len()).unwrap_or(u32::MAX);
            inputs.push(tensors(trace.names.get(dims), trace.names.get(types)).into());
            InputsId(id)
        });
        Some(id)
    }

    /// The tensors behind a handle, in the order of the arguments; those of a list follow each other.
    #[must_use]
    pub fn get(&self, id: InputsId) -> &[Tensor] {
        self.inputs.get(id.0 as usize).map_or(&[], |inputs| inputs)
    }
}

/// The tensors of `Input Dims` and `Input type`. Scalars that are no tensors are left out.
fn tensors(dims: &str, types: &str) -> Vec<Tensor> {
    let types = strings(types);
    let mut out = Vec::new();
    for (at, argument) in arguments(dims).into_iter().enumerate() {
        let position = u32::try_from(at).unwrap_or(u32::MAX);
        let named = types.get(at).copied();
        let dtype = named.and_then(DType::parse);
        match argument {
            // Without a type, an empty list may be a tensor without sides or no tensor at all.
            Argument::Tensor(dims) if dims.is_empty() && dtype.is_none() => {}
            Argument::Tensor(_) if named.is_some_and(|name| name.starts_with("Scalar")) => {}
            Argument::Tensor(dims) => out.push(Tensor { dims, dtype, position }),
            Argument::List(list) => {
                out.extend(list.into_iter().map(|dims| Tensor { dims, dtype, position }));
            }
        }
    }
    out
}

enum Argument {
    Tensor(Dims),
    List(Vec<Dims>),
}

/// `[[2,3],[],[[2],[3]]]` as arguments. What follows anything unexpected is left out.
fn arguments(text: &str) -> Vec<Argument> {
    let mut out = Vec::new();
    let mut list: Vec<Dims> = Vec::new();
    let mut numbers: Vec<i64> = Vec::new();
    let mut number: Option<i64> = None;
    let mut negative = false;
    let mut depth = 0_u32;
    let mut is_list = false;
    for byte in text.bytes() {
        match byte {
            b'[' => {
                depth += 1;
                match depth {
                    2 => (is_list, numbers) = (false, Vec::new()),
                    3 => (is_list, numbers) = (true, Vec::new()),
                    1 => {}
                    _ => return out,
                }
            }
            b'0'..=b'9' => {
                let digit = i64::from(byte - b'0');
                number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(digit));
            }
            b'-' => negative = true,
            b',' | b']' => {
                if let Some(value) = number.take() {
                    numbers.push(if negative { -value } else { value });
                }
                negative = false;
                if byte == b',' {
                    continue;
                }
                match depth {
                    3 => list.push(std::mem::take(&mut numbers).into()),
                    2 if is_list => out.push(Argument::List(std::mem::take(&mut list))),
                    2 => out.push(Argument::Tensor(std::mem::take(&mut numbers).into())),
                    _ => return out,
                }
                depth -= 1;
            }
            b' ' => {}
            _ => return out,
        }
    }
    out
}

/// The strings of a flat JSON list; types hold no escapes.
fn strings(text: &str) -> Vec<&str> {
    text.split('"').skip(1).step_by(2).collect()
}

/// The strings of `Concrete Inputs`, one per argument.
#[must_use]
pub fn concrete(trace: &Trace, operator: HostId) -> Vec<&str> {
    trace.host.concrete_inputs(operator).map_or_else(Vec::new, |inputs| strings(trace.names.get(inputs)))
}

/// The whole numbers of a list in `Concrete Inputs`: `[1, 2]`.
#[must_use]
pub(crate) fn whole_numbers(text: &str) -> Vec<i64> {
    text.trim_matches(['[', ']', ' ']).split(',').filter_map(|part| part.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(dims: &[i64], dtype: DType, position: u32) -> Tensor {
        Tensor { dims: dims.into(), dtype: Some(dtype), position }
    }

    #[test]
    fn tensors_keep_their_place_among_the_arguments() {
        let parsed =
            tensors("[[16384,1024],[],[1024,32000],[]]", r#"["c10::BFloat16","Scalar","c10::Half",""]"#);
        assert_eq!(parsed, [plain(&[16384, 1024], DType::BF16, 0), plain(&[1024, 32000], DType::F16, 2)]);
        assert_eq!(parsed[0].bytes(), Some(2 * 16384 * 1024));
    }

    #[test]
    fn a_tensor_without_sides_is_one_element_and_lists_are_flattened() {
        let parsed = tensors("[[],[[2,3],[4]],[7]]", r#"["float","TensorList","long int"]"#);
        assert_eq!(parsed[0], plain(&[], DType::F32, 0));
        assert_eq!(parsed[0].elements(), 1);
        assert_eq!(&*parsed[1].dims, [2, 3]);
        assert_eq!((&*parsed[2].dims, parsed[2].dtype, parsed[2].position), (&[4_i64][..], None, 1));
        assert_eq!(parsed[3], plain(&[7], DType::I64, 2));
    }

    #[test]
    fn rubbish_parses_to_what_came_before_it() {
        for text in ["", "[", "]", "null", "[[[[[1]]]]]", "[[1,]]]", "[[x]]", "[[1", "\u{fe}"] {
            let _ = tensors(text, text);
        }
        assert_eq!(tensors("[[2,2],[x", r#"["float"]"#), [plain(&[2, 2], DType::F32, 0)]);
        assert_eq!(elements(&[-1, 5]), 0);
        assert_eq!(elements(&[i64::MAX, i64::MAX]), u64::MAX);
    }

    #[test]
    fn types_promote_as_in_the_framework() {
        assert_eq!(DType::BF16.promote(DType::F32), DType::F32);
        assert_eq!(DType::Bool.promote(DType::BF16), DType::BF16);
        assert_eq!(DType::BF16.promote(DType::F16), DType::F32);
        assert_eq!(DType::parse("c10::Float8_e4m3fn").map(DType::bytes), Some(1));
        assert_eq!(DType::parse("Scalar"), None);
    }

    #[test]
    fn lists_among_concrete_inputs() {
        assert_eq!(whole_numbers("[2, 3]"), [2, 3]);
        assert_eq!(whole_numbers("[True, 1]"), [1]);
        assert!(whole_numbers("").is_empty());
    }
}
