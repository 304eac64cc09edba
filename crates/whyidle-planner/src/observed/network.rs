//! The network behind a step's operators: widths, heads, layers and vocabulary from their shapes, the family
//! from which linear layers a block has.

use super::census::Census;
use super::{Said, Unseen};
use crate::{Act, Attention, Code, Family, Head, Model};

/// What is read off the shapes.
pub(super) struct Network {
    pub(super) model: Model,
    pub(super) code: Code,
    /// Attention was written out.
    pub(super) eager: bool,
    /// Samples of a micro-batch.
    pub(super) batch: u64,
    /// Tokens of a sample.
    pub(super) seq: u64,
    /// Micro-batches of a step.
    pub(super) micro_batches: u64,
    /// Attention calls of a step in forward, and again in backward.
    pub(super) attentions: (u64, u64),
    /// The parameter count is the recorded one.
    pub(super) counted: bool,
    /// Whether the output matrix is the embedding could not be told.
    pub(super) tied_unknown: bool,
}

/// Attention as its operands show it.
struct Scores {
    batch: u64,
    seq: u64,
    heads: u64,
    /// Key-value heads and head width, where they are operands of one kernel.
    fused: Option<(u64, u64)>,
    forward: u64,
    again: u64,
}

fn side(dims: &[i64], at: usize) -> u64 {
    dims.get(at).and_then(|&side| u64::try_from(side).ok()).unwrap_or(0)
}

fn scores(census: &Census) -> Option<Scores> {
    let mut found: Option<Scores> = None;
    let rows = census.of("aten::scaled_dot_product_attention").chain(census.of("aten::softmax"));
    for row in rows {
        let (q, k) = (row.dims(0), row.dims(1));
        if q.len() != 4 {
            continue;
        }
        let fused = row.name != "aten::softmax";
        if !fused && q[2] != q[3] {
            continue;
        }
        let (batch, heads, seq) = (side(q, 0), side(q, 1), side(q, 2));
        let fused = fused.then(|| (side(k, 1), side(q, 3)));
        match &mut found {
            None => {
                found = Some(Scores { batch, seq, heads, fused, forward: row.forward, again: row.again });
            }
            Some(known) if (known.batch, known.seq, known.heads) == (batch, seq, heads) => {
                known.forward += row.forward;
                known.again += row.again;
            }
            // Encoders and decoders, or lengths that vary within a step.
            Some(_) => return None,
        }
    }
    found.filter(|scores| scores.batch > 0 && scores.heads > 0 && scores.seq > 0)
}

/// A linear layer: outputs, inputs, with a bias; and how often a block calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Linear {
    outs: u64,
    ins: u64,
    bias: bool,
    count: u64,
}

fn linears(census: &Census) -> (Vec<Linear>, bool) {
    let mut list: Vec<Linear> = Vec::new();
    let mut add =
        |outs, ins, bias, count| match list.iter_mut().find(|l| (l.outs, l.ins, l.bias) == (outs, ins, bias))
        {
            Some(known) => known.count += count,
            None => list.push(Linear { outs, ins, bias, count }),
        };
    for row in census.of("aten::linear") {
        let weight = row.dims(1);
        add(side(weight, 0), side(weight, 1), !row.dims(2).is_empty(), row.forward);
    }
    // transformers' Conv1D: the bias first, then tokens × ins and ins × outs.
    let mut transposed = false;
    for row in census.of("aten::addmm").filter(|row| row.dims(0).len() == 1) {
        let weight = row.dims(2);
        add(side(weight, 1), side(weight, 0), true, row.forward);
        transposed |= row.forward > 0;
    }
    list.retain(|linear| linear.count > 0);
    (list, transposed)
}

/// Linear layers of one block, told apart.
struct Blocks {
    fused: bool,
    qkv_bias: bool,
    out_bias: bool,
    ffn: u64,
    gated: bool,
    mlp_bias: bool,
}

/// `list` holds the linear layers of one block, `q` and `kv` the widths of queries and of keys.
fn blocks(mut list: Vec<Linear>, d: u64, q: u64, kv: u64) -> Option<Blocks> {
    let mut take = |outs: u64, ins: u64, count: u64| {
        let linear = list.iter_mut().find(|l| (l.outs, l.ins) == (outs, ins) && l.count >= count)?;
        linear.count -= count;
        Some(linear.bias)
    };
    let fused = take(q + 2 * kv, d, 1);
    let qkv_bias = match fused {
        Some(bias) => bias,
        None => {
            let bias = take(q, d, 1)?;
            take(kv, d, 2)?;
            bias
        }
    };
    let out_bias = take(d, q, 1)?;
    list.retain(|linear| linear.count > 0);
    let down = list.iter().position(|l| l.outs == d && l.count == 1 && l.ins != d)?;
    let (ffn, mlp_bias) = (list[down].ins, list[down].bias);
    list.remove(down);
    let [up] = list[..] else { return None };
    if up.ins != d {
        return None;
    }
    let gated = match (up.outs == ffn, up.outs == 2 * ffn, up.count) {
        (true, _, 1) => false,
        (true, _, 2) | (_, true, 1) => true,
        _ => return None,
    };
    Some(Blocks { fused: fused.is_some(), qkv_bias, out_bias, ffn, gated, mlp_bias })
}

/// Reads the network off the shapes.
pub(super) fn network(census: &Census, said: &Said) -> Result<Network, Unseen> {
    let scores = scores(census).ok_or(Unseen::NoAttention)?;
    let losses = census.forward("aten::cross_entropy_loss");
    let stages = said.stages.unwrap_or(1).max(1);
    let micro_batches = match (losses, said.micro_batches) {
        (0, Some(count)) if stages > 1 => count,
        (0, _) => return Err(Unseen::NoLoss),
        (count, _) => count,
    };
    if micro_batches == 0 || !scores.forward.is_multiple_of(micro_batches) {
        return Err(Unseen::Blocks);
    }
    let layers = scores.forward / micro_batches;
    let tokens = scores.batch * scores.seq;
    let loss_rows: Vec<u64> = census.of("aten::cross_entropy_loss").map(|row| side(row.dims(0), 1)).collect();
    // Token ids come as batch × sequence; positions as one row for all samples.
    let (mut rows, mut width, mut others) = (0, 0, Vec::new());
    for row in census.of("aten::embedding") {
        let (table, ids) = (row.dims(0), row.dims(1));
        let all: u64 = (0..ids.len()).map(|at| side(ids, at)).product();
        let is_tokens = all == tokens && ids.len() == 2 && side(table, 0) > rows;
        if is_tokens {
            if rows > 0 {
                others.push(rows);
            }
            (rows, width) = (side(table, 0), side(table, 1));
        } else {
            others.push(side(table, 0));
        }
    }
    let vocab = loss_rows.first().copied().unwrap_or(rows);
    let (mut list, transposed) = linears(census);
    let head = list.iter().position(|l| l.outs == vocab && l.count == micro_batches);
    let d = match (width, head) {
        (0, Some(head)) => list[head].ins,
        (0, None) => return Err(Unseen::Blocks),
        (width, _) => width,
    };
    if let Some(head) = head {
        list.remove(head);
    }
    let per_block = scores.forward;
    if list.is_empty() || list.iter().any(|l| !l.count.is_multiple_of(per_block)) {
        return Err(Unseen::Blocks);
    }
    list.iter_mut().for_each(|l| l.count /= per_block);
    let (kv_heads, head_dim) = match scores.fused {
        Some(found) => found,
        // Written out, keys are repeated: their width is that of their own layer.
        None if d.is_multiple_of(scores.heads) => {
            let head_dim = d / scores.heads;
            let kv = list.iter().find(|l| l.ins == d && l.count == 2 && l.outs < d && l.outs % head_dim == 0);
            (kv.map_or(scores.heads, |kv| kv.outs / head_dim), head_dim)
        }
        None => return Err(Unseen::Blocks),
    };
    let (q, kv) = (scores.heads * head_dim, kv_heads * head_dim);
    let blocks = blocks(list, d, q, kv).ok_or(Unseen::Blocks)?;
    let norms = norms(census, scores.forward, micro_batches);
    let (family, code) = family(census, &blocks, norms, transposed)?;
    let rotary = others.is_empty() && matches!(family, Family::Gpt) && census.forward("aten::cat") >= layers;
    if rotary || (code == Code::HuggingFace && norms.per_block > 2 && norms.per_block != 4) {
        return Err(Unseen::Blocks);
    }
    let layer_norm = matches!(family, Family::Gpt);
    let mut model = Model {
        name: if layer_norm { "gpt-like" } else { "llama-like" }.to_owned(),
        family,
        layers: layers * stages,
        decoder_layers: 0,
        hidden: d,
        ffn: blocks.ffn,
        gated: blocks.gated,
        act: if transposed && census.forward("aten::tanh") > 0 { Act::Written } else { Act::Fused },
        mlp_bias: blocks.mlp_bias,
        vocab: vocab.max(rows),
        positions: others.iter().sum(),
        max_seq: 0,
        extra_embeddings: 0,
        tied: false,
        dropout: census.forward("aten::native_dropout") > 0,
        attention: Attention {
            heads: scores.heads,
            kv_heads,
            head_dim,
            qkv_bias: blocks.qkv_bias,
            out_bias: blocks.out_bias,
            qk_norm: !layer_norm && norms.per_block == 4,
            mla: None,
        },
        norm_bias: layer_norm,
        moe: None,
        softcap: false,
        head: Head::Lm,
    };
    let (mut counted, mut tied_unknown) = (false, stages == 1 && vocab == rows);
    if let Some(said) = said.params.filter(|_| stages == 1) {
        let fits = |model: &Model| model.parameters() == said;
        if !fits(&model) {
            model.tied = true;
            if !fits(&model) {
                model.tied = false;
                return Err(Unseen::Parameters { counted: model.parameters(), said });
            }
        }
        (counted, tied_unknown) = (true, false);
    }
    Ok(Network {
        model,
        code,
        eager: scores.fused.is_none(),
        batch: scores.batch,
        seq: scores.seq,
        micro_batches,
        attentions: (scores.forward, scores.again),
        counted,
        tied_unknown,
    })
}

/// Norms of a block, the final one left out.
#[derive(Clone, Copy)]
struct Norms {
    /// `layer_norm` calls.
    layer: bool,
    /// `rms_norm` calls.
    rms: bool,
    /// RMS norms written in element-wise operations, as transformers does.
    root: bool,
    per_block: u64,
}

fn norms(census: &Census, blocks: u64, micro_batches: u64) -> Norms {
    let count = |name| census.forward(name).saturating_sub(micro_batches) / blocks.max(1);
    let (layer, rms, root) = (count("aten::layer_norm"), count("aten::rms_norm"), count("aten::rsqrt"));
    Norms { layer: layer > 0, rms: rms > 0, root: root > 0, per_block: layer + rms + root }
}

fn family(
    census: &Census,
    blocks: &Blocks,
    norms: Norms,
    transposed: bool,
) -> Result<(Family, Code), Unseen> {
    match (blocks.fused, blocks.gated, norms) {
        (true, false, Norms { layer: true, .. }) if transposed => Ok((Family::Gpt, Code::HuggingFace)),
        (true, false, Norms { layer: true, .. }) => Ok((Family::Gpt, Code::Torch)),
        // No norm of a block is an operator of its own, the final one is.
        (true, false, Norms { per_block: 0, .. }) if census.forward("aten::layer_norm") > 0 => {
            Ok((Family::Gpt, Code::WrittenOut))
        }
        (_, true, Norms { root: true, .. }) if !blocks.fused => Ok((Family::Llama, Code::HuggingFace)),
        (_, true, Norms { rms: true, .. }) => Ok((Family::Llama, Code::Torch)),
        _ => Err(Unseen::Blocks),
    }
}
