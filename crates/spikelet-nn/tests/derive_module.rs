//! `#[derive(Module)]`: children are named by the fields of a struct.

use spikelet_nn::module::Trace;
use spikelet_nn::prelude::*;

/// A trunk, blocks and a head, over several time steps.
#[derive(Module)]
struct Net {
    trunk: Sequential,
    blocks: Vec<Sequential>,
    head: Linear,
    #[module(skip)]
    steps: usize,
}

impl Net {
    fn new(blocks: usize) -> Self {
        Self {
            trunk: layer(4),
            blocks: (0..blocks).map(|_| layer(8)).collect(),
            head: Linear::new(8, 3).bias(false),
            steps: 5,
        }
    }

    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let h = self.trunk(cx, &x.repeat_over_time(self.steps))?;
        let h = self.blocks(cx, &h)?;
        self.head(cx, &h)
    }
}

/// The same with closures.
struct ByHand(Net);

impl Module for ByHand {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let net = &self.0;
        let x = x.repeat_over_time(net.steps);
        let mut h = cx.child("trunk", |cx| net.trunk.forward(cx, &x))?;
        for (k, block) in net.blocks.iter().enumerate() {
            h = cx.child(&format!("blocks.{k}"), |cx| block.forward(cx, &h))?;
        }
        cx.child("head", |cx| net.head.forward(cx, &h))
    }
}

/// A generic type, an array, pointers.
#[derive(Module)]
struct Around<M> {
    inner: M,
    pair: [If; 2],
    last: Box<dyn Module>,
}

impl<M: Module> Around<M> {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let y = self.pair(cx, &self.inner(cx, x)?)?;
        self.last(cx, &y)
    }
}

/// Two outputs.
#[derive(Module)]
#[module(children)]
struct TwoHeads {
    trunk: Net,
    class: Linear,
    speed: Linear,
}

impl TwoHeads {
    fn forward(&self, cx: &Context, x: &Var) -> Result<[Var; 2]> {
        let h = self.trunk(cx, x)?;
        Ok([self.class(cx, &h)?, self.speed(cx, &h)?])
    }
}

fn layer(inputs: usize) -> Sequential {
    Sequential::new()
        .add(Linear::new(inputs, 8).bias(false))
        .add(If::new())
}

fn context() -> (Trace, Var) {
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [2, 4]);
    (cx, x)
}

fn parameters(cx: &Trace) -> Vec<String> {
    let parameters = cx.traced().parameters.into_iter();
    parameters.map(|p| p.name).collect()
}

#[test]
fn paths_of_parameters_are_the_fields() -> Result<()> {
    let (cx, x) = context();
    assert_eq!(Net::new(2).forward(&cx, &x)?.shape(), [5, 2, 3]);
    assert_eq!(
        parameters(&cx),
        [
            "trunk.0.weight",
            "blocks.0.0.weight",
            "blocks.1.0.weight",
            "head.weight"
        ]
    );
    let (cx, x) = context();
    let outer = Around {
        inner: Net::new(0),
        pair: [If::new(), If::new()],
        last: Box::new(Linear::new(3, 1).bias(false)),
    };
    let nested = Sequential::new().add(outer);
    assert_eq!(nested.forward(&cx, &x)?.shape(), [5, 2, 1]);
    assert_eq!(
        parameters(&cx),
        [
            "0.inner.trunk.0.weight",
            "0.inner.head.weight",
            "0.last.weight"
        ]
    );
    Ok(())
}

#[test]
fn the_graph_is_that_of_closures() -> Result<()> {
    let graph = |module: &dyn Module| {
        let (cx, x) = context();
        cx.tracer().output("y", &module.forward(&cx, &x)?);
        Ok::<_, Error>(cx.tracer().traced().to_string())
    };
    assert_eq!(graph(&Net::new(2))?, graph(&ByHand(Net::new(2)))?);
    Ok(())
}

#[test]
fn a_type_with_two_outputs_has_children_without_being_a_module() -> Result<()> {
    let (cx, x) = context();
    let net = TwoHeads {
        trunk: Net::new(0),
        class: Linear::new(3, 7).bias(false),
        speed: Linear::new(3, 1).bias(false),
    };
    let [class, speed] = net.forward(&cx, &x)?;
    assert_eq!((class.shape()[2], speed.shape()[2]), (7, 1));
    assert_eq!(parameters(&cx)[2..], ["class.weight", "speed.weight"]);
    Ok(())
}

#[test]
fn the_printed_tree_has_the_children() {
    let linear = || Sequential::new().add(Linear::new(8, 8).bias(false));
    let net = Net {
        trunk: Sequential::new().add(Flatten),
        blocks: vec![linear(), linear()],
        ..Net::new(0)
    };
    let expected = "\
Net(
  (trunk): Sequential(
    (0): Flatten
  )
  (blocks.0): Sequential(
    (0): Linear(inputs=8, outputs=8, bias=false)
  )
  (blocks.1): Sequential(
    (0): Linear(inputs=8, outputs=8, bias=false)
  )
  (head): Linear(inputs=8, outputs=3, bias=false)
)";
    assert_eq!(net.tree().to_string(), expected);
    let tree = Sequential::new().add(net).tree();
    let found = tree.find("0.blocks.1.0").map(|tree| tree.kind());
    assert_eq!(found, Some("Linear"));
}
