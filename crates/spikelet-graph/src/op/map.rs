//! A fused elementwise region: expressions over tensors, with broadcasting.

use super::*;
use spikelet_expr::{CompileError, Expr, Listing, Node as ExprNode, Program, vjp};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// `y_j[i] = expression_j(x_0[i], x_1[i], …)`, operands broadcast to one shape.
///
/// In the expressions the operands are the symbols of [`Map::operand`]. Arithmetic is in f64 if the
/// operands are f64, and in f32 for any mix of f32, f16 and bf16; each output is then rounded to its
/// storage type.
#[derive(Clone, Debug, Default)]
pub struct Map {
    /// One expression for each output.
    pub expressions: Vec<Expr>,
    /// The shape of every output, to which the operands broadcast.
    pub shape: Vec<usize>,
    /// The element type of each output. Empty: the operands' type for all outputs, or f32 if the
    /// operands' types differ.
    pub dtypes: Vec<DType>,
    operations: OperationCount,
}

/// The scalar operations of a map's program, counted once, with the expressions that were counted. Clones share it.
#[derive(Clone, Debug, Default)]
struct OperationCount(Arc<OnceLock<(Vec<Expr>, usize)>>);

fn are_same(a: &[Expr], b: &[Expr]) -> bool {
    let same = |(a, b): (&Expr, &Expr)| std::ptr::eq(a.node(), b.node());
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// Expressions are equal if they are one object.
impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            expressions,
            shape,
            dtypes,
            operations: _,
        } = self;
        are_same(expressions, &other.expressions)
            && (shape, dtypes) == (&other.shape, &other.dtypes)
    }
}

impl Map {
    /// Expressions whose results have the type of the operands.
    pub fn new(expressions: Vec<Expr>, shape: impl Into<Vec<usize>>) -> Self {
        Self::stored(expressions, shape, vec![])
    }

    /// Expressions whose results have these types.
    pub fn stored(
        expressions: Vec<Expr>,
        shape: impl Into<Vec<usize>>,
        dtypes: Vec<DType>,
    ) -> Self {
        Self {
            expressions,
            shape: shape.into(),
            dtypes,
            operations: OperationCount::default(),
        }
    }

    /// A cast to another floating-point type.
    pub fn cast(shape: impl Into<Vec<usize>>, dtype: DType) -> Self {
        Self::stored(vec![Self::operand(0)], shape, vec![dtype])
    }

    /// A value of a type, without a gradient.
    pub fn detached(ty: &TensorType) -> Self {
        Self::stored(vec![Self::operand(0).detach()], &*ty.shape, vec![ty.dtype])
    }

    /// Whether the only output is the only operand.
    pub fn is_identity(&self) -> bool {
        matches!(&self.expressions[..], [e] if is_first_operand(e))
    }

    /// Whether the only output is the only operand, without a gradient.
    pub fn is_detached(&self) -> bool {
        let [only] = &self.expressions[..] else {
            return false;
        };
        match only.node() {
            ExprNode::CustomGradient { value, tangent } => {
                is_first_operand(value) && tangent.as_constant().is_some()
            }
            _ => false,
        }
    }

    /// The type of outputs for which `dtypes` has none.
    pub(crate) fn common(inputs: impl IntoIterator<Item = DType>) -> DType {
        let mut inputs = inputs.into_iter();
        let first = inputs.next().unwrap_or(DType::F32);
        if inputs.all(|dtype| dtype == first) {
            first
        } else {
            DType::F32
        }
    }

    /// The symbol of operand `k`.
    pub fn operand(k: usize) -> Expr {
        Expr::symbol(Self::operand_name(k))
    }

    /// The name of the symbol of operand `k`.
    pub fn operand_name(k: usize) -> String {
        format!("x{k}")
    }

    /// The expressions compiled over `operands` operands.
    ///
    /// # Errors
    /// When an expression uses a symbol that is not an operand.
    pub fn program(&self, operands: usize) -> std::result::Result<Program, CompileError> {
        let names: Vec<String> = (0..operands).map(Self::operand_name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Program::compile(&self.expressions, &[], &names)
    }

    /// The scalar operations of [`Map::program`]; 0 when an expression uses a symbol that is not an operand.
    pub(crate) fn operations(&self, operands: usize) -> usize {
        let count = || {
            self.program(operands)
                .map_or(0, |program| program.operations())
        };
        let known = self
            .operations
            .0
            .get_or_init(|| (self.expressions.clone(), count()));
        match are_same(&known.0, &self.expressions) {
            true => known.1,
            // A clone whose expressions were changed.
            false => count(),
        }
    }

    /// Adds a map over those of `operands` that its expressions use.
    ///
    /// # Errors
    /// When the operands do not broadcast to the map's shape.
    pub fn add(
        mut map: Map,
        graph: &mut Graph,
        operands: &[ValueId],
        layer: &Arc<str>,
        backward: bool,
    ) -> Result<Vec<ValueId>> {
        let all = operands.iter().map(|v| graph.ty(*v).dtype);
        let common = Self::common(all);
        let (expressions, kept) = prune(map.expressions, operands.len());
        let operands: Vec<ValueId> = kept.iter().map(|&k| operands[k]).collect();
        // Unused operands still take part in dtype promotion.
        let left = operands.iter().map(|v| graph.ty(*v).dtype);
        if map.dtypes.is_empty() && Self::common(left) != common {
            map.dtypes = vec![common; expressions.len()];
        }
        map.expressions = expressions;
        let node = graph.make_node(map.into(), &operands, layer, backward)?;
        let outputs = node.outputs.clone();
        graph.nodes.push(node);
        Ok(outputs)
    }
}

/// Renumbers the operands that are used. At least one remains, which determines the type.
pub(crate) fn prune(expressions: Vec<Expr>, operands: usize) -> (Vec<Expr>, Vec<usize>) {
    let mut used: Vec<String> = expressions.iter().flat_map(Expr::symbols).collect();
    used.sort();
    used.dedup();
    let mut kept: Vec<usize> = (0..operands)
        .filter(|&k| used.contains(&Map::operand_name(k)))
        .collect();
    if kept.is_empty() && operands > 0 {
        kept.push(0);
    }
    let rename = |name: &str| -> Option<Expr> {
        let position = kept.iter().position(|&k| Map::operand_name(k) == name)?;
        Some(Map::operand(position))
    };
    let renamed = expressions.iter().map(|e| e.substitute(&rename)).collect();
    (renamed, kept)
}

fn is_first_operand(e: &Expr) -> bool {
    matches!(e.node(), ExprNode::Symbol(name) if **name == *"x0")
}

impl Operation for Map {
    fn kind(&self) -> Kind {
        Kind::new("map", Class::Elementwise).stored(Storage::Elementwise)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        let all = self.expressions.iter().enumerate();
        let mut all: Vec<_> = all
            .map(|(k, e)| (e.clone(), self.dtypes.get(k).copied()))
            .collect();
        let blank = (Expr::constant(0.0), None);
        t.word("map[")
            .shared(Listing::of(&self.expressions), false)
            .many(&mut all, &blank, "; ", |t, (expr, dtype)| {
                t.expr(expr).optional(dtype, " as ", Text::dtype)
            });
        t.word("]")
            .results(|types| self.shape.clone_from(&types[0].shape));
        self.dtypes = all.iter().filter_map(|(_, dtype)| *dtype).collect();
        self.expressions = all.into_iter().map(|(expr, _)| expr).collect();
    }

    fn outputs(&self, _: usize) -> usize {
        self.expressions.len()
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let Some(first) = inputs.first() else {
            return invalid!("no operands"; "use `Fill` for constants");
        };
        let arithmetic = first.dtype.arithmetic();
        for input in inputs {
            if !input.dtype.is_float() || input.dtype.arithmetic() != arithmetic {
                return invalid!("elementwise arithmetic on {} and {}", first.dtype, input.dtype;
                    "convert the operands to one floating-point type");
            }
            expect_broadcast("shapes do not broadcast", input, &self.shape)?;
        }
        let made = |dtype: DType| TensorType::new(dtype, self.shape.clone());
        if self.dtypes.is_empty() {
            let common = Self::common(inputs.iter().map(|t| t.dtype));
            return Ok(vec![made(common); self.expressions.len()]);
        }
        let fits = |dtype: &DType| dtype.is_float() && dtype.arithmetic() == arithmetic;
        if self.dtypes.len() != self.expressions.len() || !self.dtypes.iter().all(fits) {
            let given: Vec<String> = self.dtypes.iter().map(DType::to_string).collect();
            return invalid!("cannot store {} results of {arithmetic} arithmetic as [{}]",
                self.expressions.len(), given.join(", ");
                "pass one type for each result: f64 for f64 arithmetic, else f32, f16 or bf16");
        }
        Ok(self.dtypes.iter().map(|d| made(*d)).collect())
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let inputs = node.inputs.len();
        let mut operands = node.inputs.clone();
        let mut outputs = vec![];
        for (expression, grad) in self.expressions.iter().zip(b.grads.clone()) {
            if let Some(grad) = grad {
                outputs.push((expression.clone(), Map::operand(operands.len())));
                operands.push(grad);
            }
        }
        let names: Vec<String> = (0..inputs).map(Map::operand_name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let all = vjp(&outputs, &names);
        let wanted: Vec<usize> = (0..inputs)
            .filter(|&k| b.wanted[k] && all[k].as_constant() != Some(0.0))
            .collect();
        let mut grads = vec![None; inputs];
        if wanted.is_empty() {
            return Ok(grads);
        }
        // A gradient has the type of its operand. If the operand was broadcast, the gradient is summed
        // first and keeps the type of the incoming gradient: the sum is computed in f32.
        let inflow = Self::common(b.grads.iter().flatten().map(|g| b.graph.ty(*g).dtype));
        let stored = |k: &usize| {
            let own = b.graph.ty(node.inputs[*k]);
            if own.len() == b.graph.ty(node.outputs[0]).len() || !inflow.is_half() {
                own.dtype
            } else {
                inflow
            }
        };
        // A gradient that is passed unchanged is not copied.
        let names_of_all: Vec<String> = (0..operands.len()).map(Map::operand_name).collect();
        let passed = |k: usize| {
            let is = |v: &ValueId, j: usize| {
                let ty = b.graph.ty(*v);
                all[k].as_symbol() == Some(&names_of_all[j])
                    && ty.shape == self.shape
                    && ty.dtype == stored(&k)
            };
            (inputs..operands.len()).find(|&j| is(&operands[j], j))
        };
        let passed: Vec<(usize, usize)> = wanted
            .iter()
            .filter_map(|&k| Some((k, passed(k)?)))
            .collect();
        let made: Vec<usize> = wanted
            .into_iter()
            .filter(|k| passed.iter().all(|(p, _)| p != k))
            .collect();
        let expressions = made.iter().map(|&k| all[k].clone()).collect();
        let dtypes = made.iter().map(stored).collect();
        let map = Map::stored(expressions, self.shape.clone(), dtypes);
        let values = match made.is_empty() {
            true => vec![],
            false => b.map(map, &operands)?,
        };
        let of_passed = passed.iter().map(|(k, j)| (*k, operands[*j]));
        for (k, value) in made.into_iter().zip(values).chain(of_passed) {
            grads[k] = Some(b.sum_to_shape_of(value, node.inputs[k])?);
        }
        Ok(grads)
    }

    fn writes_unread(&self, _: usize) -> bool {
        true
    }

    fn is_binary(&self, result: usize) -> bool {
        self.expressions[result].is_binary()
    }

    fn in_place(&self, _: usize) -> InPlace {
        InPlace::Elements
    }

    fn resized(&self, _axis: usize, _range: &Range<usize>, results: &[TensorType]) -> Option<Op> {
        let mut op = self.clone();
        op.shape = results[0].shape.clone();
        Some(op.into())
    }

    fn stored_as(&self, dtype: DType) -> Option<Op> {
        let dtypes = vec![dtype; self.expressions.len()];
        Some(
            Map {
                dtypes,
                ..self.clone()
            }
            .into(),
        )
    }

    fn permuted(&self, order: &[usize]) -> Option<Op> {
        let mut op = self.clone();
        op.shape = inverse(order).iter().map(|&k| self.shape[k]).collect();
        Some(op.into())
    }

    fn flops(&self, inputs: &[TensorType], outputs: &[TensorType]) -> u64 {
        let per_element = self.operations(inputs.len());
        product([per_element, outputs.first().map_or(0, TensorType::len)])
    }
}

/// An error of an expression with the operation and the layer.
pub(crate) fn expression_error(layer: &str, operation: &str, source: CompileError) -> Error {
    Error::Expression {
        layer: layer.to_string(),
        operation: operation.to_string(),
        source,
    }
}
