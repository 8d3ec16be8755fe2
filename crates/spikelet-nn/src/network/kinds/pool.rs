//! `{ max-pool = 2 }`, `{ avg-pool = 3, stride = 2, padding = 1 }`, `{ adaptive-avg-pool = 1 }`

use super::keys::{CEIL, DILATION, PADDING, WINDOW_STRIDE, key};
use super::{Kind, MainValue};
use crate::layer::{AdaptiveAvgPool, AdaptiveMaxPool, Pool};
use crate::module::Module;
use crate::network::build::Builder;
use crate::network::layer_fields::LayerFields;
use spikelet_core::document::Located;
use std::sync::Arc;

const WINDOW: MainValue = MainValue::Required(key!(window: "sizes", "the size of the window"));
const OUTPUT: MainValue = MainValue::Required(key!(size: "sizes", "the size of the output"));

pub(super) const MAX_POOL: Kind = Kind {
    name: "max-pool",
    types: &["MaxPool1d", "MaxPool2d", "MaxPool3d"],
    summary: "the largest element of each window",
    main: WINDOW,
    keys: &[WINDOW_STRIDE, PADDING, DILATION, CEIL],
    example: (&[4, 6, 6], "{ max-pool = 2 }"),
    build: |layer, b| match b.spatial_axes("max-pool")? {
        1 => pool::<1>(layer, b, Pool::max),
        2 => pool::<2>(layer, b, Pool::max),
        _ => pool::<3>(layer, b, Pool::max),
    },
};

pub(super) const AVG_POOL: Kind = Kind {
    name: "avg-pool",
    types: &["AvgPool1d", "AvgPool2d", "AvgPool3d"],
    summary: "the mean of each window",
    main: WINDOW,
    keys: &[
        WINDOW_STRIDE,
        PADDING,
        CEIL,
        key!(count_padding: "flag" = "true", "whether padding counts in the mean"),
    ],
    example: (&[4, 6, 6], "{ avg-pool = 2 }"),
    build: |layer, b| match b.spatial_axes("avg-pool")? {
        1 => average::<1>(layer, b),
        2 => average::<2>(layer, b),
        _ => average::<3>(layer, b),
    },
};

pub(super) const ADAPTIVE_MAX_POOL: Kind = Kind {
    name: "adaptive-max-pool",
    types: &[
        "AdaptiveMaxPool1d",
        "AdaptiveMaxPool2d",
        "AdaptiveMaxPool3d",
    ],
    summary: "max pooling to an output of a given size",
    main: OUTPUT,
    keys: &[],
    example: (&[4, 6, 6], "{ adaptive-max-pool = 2 }"),
    build: |layer, b| match b.spatial_axes(layer.kind.name)? {
        1 => adaptive::<1, _>(layer, b, AdaptiveMaxPool::new),
        2 => adaptive::<2, _>(layer, b, AdaptiveMaxPool::new),
        _ => adaptive::<3, _>(layer, b, AdaptiveMaxPool::new),
    },
};

pub(super) const ADAPTIVE_AVG_POOL: Kind = Kind {
    name: "adaptive-avg-pool",
    types: &[
        "AdaptiveAvgPool1d",
        "AdaptiveAvgPool2d",
        "AdaptiveAvgPool3d",
    ],
    summary: "average pooling to an output of a given size",
    main: OUTPUT,
    keys: &[],
    example: (&[4, 6, 6], "{ adaptive-avg-pool = 2 }"),
    build: |layer, b| match b.spatial_axes(layer.kind.name)? {
        1 => adaptive::<1, _>(layer, b, AdaptiveAvgPool::new),
        2 => adaptive::<2, _>(layer, b, AdaptiveAvgPool::new),
        _ => adaptive::<3, _>(layer, b, AdaptiveAvgPool::new),
    },
};

fn array<const D: usize>(
    layer: &LayerFields<'_>,
    key: &str,
    least: usize,
) -> Result<Option<[usize; D]>, Located> {
    let sizes = layer.sizes(key, D, least)?;
    Ok(sizes.and_then(|sizes| sizes.try_into().ok()))
}

/// The value of the kind's key.
fn main<const D: usize>(layer: &LayerFields<'_>) -> Result<[usize; D], Located> {
    Ok(array(layer, layer.kind.name, 1)?.unwrap_or([1; D]))
}

/// Pooling with the settings that both kinds have.
fn windows<const D: usize>(
    layer: &LayerFields<'_>,
    b: &Builder,
    of: fn([usize; D]) -> Pool<D>,
) -> Result<Pool<D>, Located> {
    let kernel = main(layer)?;
    let mut pool = of(kernel);
    if let Some(stride) = array(layer, "stride", 1)? {
        pool = pool.stride(stride);
    }
    let padding = array(layer, "padding", 0)?.unwrap_or([0; D]);
    if let Some(node) = layer.fields.get("padding") {
        if (padding.iter().zip(kernel)).any(|(&padding, kernel)| padding > kernel / 2) {
            return Err(node.wrong("padding", "at most half the window"));
        }
        pool = pool.padding(padding);
    }
    let dilation = match layer.kind.keys.contains(&DILATION) {
        true => array(layer, "dilation", 1)?.unwrap_or([1; D]),
        false => [1; D],
    };
    b.expect_window(&kernel, &dilation, &padding)?;
    let pool = pool.dilation(dilation);
    match layer.fields.flag("ceil")? {
        Some(yes) => Ok(pool.ceil(yes)),
        None => Ok(pool),
    }
}

fn pool<const D: usize>(
    layer: &LayerFields<'_>,
    b: &mut Builder,
    of: fn([usize; D]) -> Pool<D>,
) -> Result<Arc<dyn Module>, Located> {
    let pool = windows(layer, b, of)?;
    b.leaf(layer.kind.name, pool, Some(0), |_| Some(0))
}

fn average<const D: usize>(
    layer: &LayerFields<'_>,
    b: &mut Builder,
) -> Result<Arc<dyn Module>, Located> {
    let mut pool: Pool<D> = windows(layer, b, Pool::average)?;
    if let Some(yes) = layer.fields.flag("count_padding")? {
        pool = pool.count_padding(yes);
    }
    b.leaf(layer.kind.name, pool, Some(0), |_| Some(0))
}

/// Pooling to an output of the given size.
fn adaptive<const D: usize, M: Module + 'static>(
    layer: &LayerFields<'_>,
    b: &mut Builder,
    of: fn([usize; D]) -> M,
) -> Result<Arc<dyn Module>, Located> {
    b.leaf(layer.kind.name, of(main(layer)?), Some(0), |_| Some(0))
}
