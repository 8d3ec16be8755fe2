"""Writes the reference values of the augmentations: crates/spikelet-data/tests/references/augmentations.json.

torchvision's functions on PIL images give the expected bytes of every operation, of `Resize` and of resized
crops, and the tables of its policies. Pillow encodes the images of files.json and decodes them.

    pip install torch torchvision pillow numpy
    python tools/baselines/augmentations.py
"""

import io
import json
import math
import pathlib

import numpy
import PIL
import torch
import torchvision
from PIL import Image
from torchvision.transforms import InterpolationMode, autoaugment
from torchvision.transforms import functional as F

OUT = pathlib.Path(__file__).parents[2] / "crates/spikelet-data/tests/references/augmentations.json"
NEAREST = InterpolationMode.NEAREST


def picture(seed, channels, height, width):
    """Smooth shapes and noise, with the full range of bytes in some channels and a small one in others."""
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    planes = []
    for channel in range(channels):
        waves = numpy.sin(x * random.uniform(0.2, 0.9) + channel) * numpy.cos(y * random.uniform(0.2, 0.9))
        values = 128 + random.uniform(40, 110) * waves + random.normal(0, 15, (height, width))
        planes.append(values.clip(0, 255))
    return numpy.stack(planes).astype(numpy.uint8)


def to_pil(pixels):
    return Image.fromarray(pixels[0]) if len(pixels) == 1 else Image.fromarray(pixels.transpose(1, 2, 0).copy())


def to_hex(pixels):
    return pixels.tobytes().hex()


def from_pil(image):
    pixels = numpy.asarray(image)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def apply(image, op, value, fill):
    colors = [fill] * len(image.getbands())
    affine = dict(angle=0.0, scale=1.0, interpolation=NEAREST, fill=colors)
    match op:
        case "Invert":
            return F.invert(image)
        case "AutoContrast":
            return F.autocontrast(image)
        case "Equalize":
            return F.equalize(image)
        case "Posterize":
            return F.posterize(image, value)
        case "Solarize":
            return F.solarize(image, value)
        case "Brightness":
            return F.adjust_brightness(image, value)
        case "Contrast":
            return F.adjust_contrast(image, value)
        case "Color":
            return F.adjust_saturation(image, value)
        case "Sharpness":
            return F.adjust_sharpness(image, value)
        case "Hue":
            return F.adjust_hue(image, value)
        case "ShearX":
            shear = [math.degrees(math.atan(value)), 0.0]
            return F.affine(image, translate=[0, 0], shear=shear, center=[0, 0], **affine)
        case "ShearY":
            shear = [0.0, math.degrees(math.atan(value))]
            return F.affine(image, translate=[0, 0], shear=shear, center=[0, 0], **affine)
        case "TranslateX":
            return F.affine(image, translate=[value, 0], shear=[0.0, 0.0], **affine)
        case "TranslateY":
            return F.affine(image, translate=[0, value], shear=[0.0, 0.0], **affine)
        case "Rotate":
            return F.rotate(image, value, interpolation=NEAREST, fill=colors)
    raise ValueError(op)


def single(values):
    """Values that are exact in f32, as torchvision's tables are."""
    return [float(numpy.float32(value)) for value in values]


STRENGTHS = {
    "Invert": [None],
    "AutoContrast": [None],
    "Equalize": [None],
    "Posterize": [1, 2, 4, 6, 8],
    "Solarize": single([0.0, 85.0, 127.5, 198.3333, 255.0]),
    "Brightness": single([0.0, 0.1, 0.73, 1.3, 1.99]),
    "Contrast": single([0.0, 0.1, 0.73, 1.3, 1.99]),
    "Color": single([0.0, 0.1, 0.73, 1.3, 1.99]),
    "Sharpness": single([0.0, 0.1, 0.73, 1.3, 1.99]),
    "Hue": single([-0.5, -0.2, 0.02, 0.1, 0.33, 0.5]),
    "ShearX": single([-0.99, -0.1, 0.066, 0.3]),
    "ShearY": single([-0.99, -0.1, 0.066, 0.3]),
    "TranslateX": [-32, -3, 1, 5],
    "TranslateY": [-32, -3, 1, 5],
    "Rotate": single([-135.0, -30.0, -7.7777, 0.5, 13.3333, 45.0, 90.0, 180.0]),
}


def operations():
    images = [picture(1, 3, 13, 11), picture(2, 1, 9, 12)]
    # More pixels than 255 a channel, so that `Equalize` has something to do, and few values.
    images.append((picture(3, 3, 24, 24) // 16 * 11).astype(numpy.uint8))
    cases = []
    for index, pixels in enumerate(images):
        for op, values in STRENGTHS.items():
            # The third image for histograms only.
            if index == 2 and op not in ("AutoContrast", "Equalize", "Contrast"):
                continue
            for value in values:
                fill = 128 if index == 0 else 7
                out = from_pil(apply(to_pil(pixels), op, value, fill))
                cases.append(dict(image=index, op=op, value=value, fill=fill, out=to_hex(out)))
    return [dict(shape=p.shape, pixels=to_hex(p)) for p in images], cases


def resizes():
    """[y, x, height, width] of the crop and the new size."""
    pixels = picture(4, 3, 37, 50)
    cases = []
    for box, size in [
        ([0, 0, 37, 50], [16, 16]),
        ([3, 7, 20, 31], [12, 24]),
        ([5, 2, 9, 11], [20, 23]),
        ([10, 10, 8, 8], [8, 8]),
    ]:
        out = F.resized_crop(to_pil(pixels), *box, size, InterpolationMode.BILINEAR, antialias=True)
        cases.append(dict(box=box, size=size, out=to_hex(from_pil(out))))
    shorter = []
    for pixels_of, size in [(pixels, 20), (pixels.transpose(0, 2, 1).copy(), 20), (pixels, 41)]:
        out = F.resize(to_pil(pixels_of), size, InterpolationMode.BILINEAR, antialias=True)
        shorter.append(dict(
            shape=pixels_of.shape, size=size, out_shape=from_pil(out).shape, out=to_hex(from_pil(out)),
            pixels=to_hex(pixels_of),
        ))
    crops = []
    for pixels_of, size in [(pixels, [21, 30]), (pixels, [40, 31]), (pixels, [38, 53])]:
        out = F.center_crop(to_pil(pixels_of), size)
        crops.append(dict(size=size, out=to_hex(from_pil(out))))
    return dict(shape=pixels.shape, pixels=to_hex(pixels), cases=cases, shorter=shorter, center_crops=crops)


def files():
    """Images as files of several kinds, and their pixels as RGB and as grayscale."""
    # Smooth, so that the rounding of decoders matters more than that of the files.
    rgb = to_pil(picture(5, 3, 11, 15)).resize((30, 22), Image.BICUBIC)
    alpha = rgb.copy()
    alpha.putalpha(rgb.getchannel("R"))
    cases = [
        ("rgb 4:2:0", rgb, dict(format="JPEG", quality=90)),
        ("rgb 4:4:4", rgb, dict(format="JPEG", quality=95, subsampling=0)),
        ("progressive", rgb, dict(format="JPEG", quality=90, progressive=True)),
        ("restart markers", rgb, dict(format="JPEG", quality=90, restart_marker_blocks=2)),
        ("gray jpeg", rgb.convert("L"), dict(format="JPEG", quality=90)),
        ("cmyk", rgb.convert("CMYK"), dict(format="JPEG", quality=95, subsampling=0)),
        ("png", rgb, dict(format="PNG")),
        ("gray png", rgb.convert("L"), dict(format="PNG")),
        ("transparent", alpha, dict(format="PNG")),
        ("palette", rgb.quantize(20), dict(format="PNG")),
        ("black and white", rgb.convert("1"), dict(format="PNG")),
    ]
    rows = []
    for name, image, options in cases:
        buffer = io.BytesIO()
        image.save(buffer, **options)
        decoded = Image.open(buffer)
        if "A" in decoded.getbands():
            # Transparent pixels are those of a white page.
            decoded = Image.alpha_composite(Image.new("RGBA", decoded.size, "white"), decoded.convert("RGBA"))
        rows.append(dict(
            name=name, file=buffer.getvalue().hex(), shape=[3, 22, 30],
            rgb=to_hex(from_pil(decoded.convert("RGB"))), gray=to_hex(from_pil(decoded.convert("RGB").convert("L"))),
        ))
    return rows


def table(space):
    rows = {}
    for op, (magnitudes, signed) in space.items():
        values = magnitudes.tolist() if magnitudes.ndim else [float(magnitudes)]
        rows[op] = dict(values=values, signed=signed)
    return rows


def policies():
    auto = autoaugment.AutoAugment(autoaugment.AutoAugmentPolicy.CIFAR10)
    rand = autoaugment.RandAugment()
    trivial = autoaugment.TrivialAugmentWide()
    return dict(
        auto_augment=dict(policies=auto.policies, space=table(auto._augmentation_space(10, (32, 32)))),
        rand_augment=table(rand._augmentation_space(31, (32, 32))),
        trivial_augment=table(trivial._augmentation_space(31)),
    )


def main():
    images, cases = operations()
    versions = dict(torch=torch.__version__, torchvision=torchvision.__version__, pillow=PIL.__version__)
    OUT.parent.mkdir(exist_ok=True)
    write(OUT, dict(versions=versions, images=images, operations=cases, resize=resizes(), **policies()))
    write(OUT.with_name("files.json"), dict(versions=versions, files=files()))
    print(f"{len(cases)} cases in {OUT.parent}")


def write(path, content):
    # One value a line for the entries of lists, so that a change is readable.
    lines = []
    for key, value in content.items():
        if isinstance(value, list):
            entries = ",\n".join(json.dumps(entry) for entry in value)
            lines.append(f'"{key}": [\n{entries}\n]')
        else:
            lines.append(f'"{key}": {json.dumps(value)}')
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
