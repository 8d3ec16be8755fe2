"""The equations of recurrent layers in PyTorch, time first: [T, N, F]. Every function returns all states.

The expected results of crates/spikelet-dev/tests/recurrent are these functions in f64. Needs torch (CPU).
"""
import math
import torch
import torch.nn.functional as F


# ------------------------------------------------------------------ spikes and their surrogates
class _Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, kind, k):
        ctx.save_for_backward(x)
        ctx.kind, ctx.k = kind, k
        ge = kind in ("slayer", "sj_atan", "triangle")
        return (x >= 0 if ge else x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        k = ctx.k
        if ctx.kind == "boxcar":            # (-1/2, 1/2]
            d = ((x > -0.5) & (x <= 0.5)).to(x.dtype)
        elif ctx.kind == "slayer":          # c*alpha / (2*exp(alpha*|x|))
            d = k["c"] * k["alpha"] / (2 * torch.exp(x.abs() * k["alpha"]))
        elif ctx.kind in ("sj_atan", "snn_atan"):
            d = k["alpha"] / 2 / (1 + (math.pi / 2 * k["alpha"] * x).pow(2))
        elif ctx.kind == "fast_sigmoid":
            d = 1 / (k["slope"] * x.abs() + 1.0) ** 2
        elif ctx.kind == "super":           # norse
            d = 1 / (k["alpha"] * x.abs() + 1.0).pow(2)
        elif ctx.kind == "triangle":
            d = (1 / k["gamma"]) * (1 / k["gamma"]) * (k["gamma"] - x.abs()).clamp(min=0)
        elif ctx.kind == "multi_gauss":     # Yin et al.
            def gauss(x, mu, sigma):
                return torch.exp(-((x - mu) ** 2) / (2 * sigma ** 2)) / math.sqrt(2 * math.pi) / sigma
            lens, h, s = k["lens"], k["height"], k["scale"]
            d = gauss(x, 0.0, lens) * (1 + h) - gauss(x, lens, s * lens) * h - gauss(x, -lens, s * lens) * h
            d = d * k["gamma"]
        else:
            raise ValueError(ctx.kind)
        return g * d, None, None


def spike(x, kind, **k):
    return _Spike.apply(x, kind, k)


# ------------------------------------------------------------------ batch norm over all N*T rows
def batch_norm(wx, p, eps=1e-5, momentum=0.05, train=True):
    """wx [T, N, H]; p has norm.weight, norm.bias, norm.running_mean, norm.running_var. -> y, new running"""
    T, N, H = wx.shape
    r = wx.reshape(T * N, H)
    if train:
        mean = r.mean(0)
        var = ((r - mean) ** 2).mean(0)
        n = T * N
        rm = (1 - momentum) * p["norm.running_mean"] + momentum * mean.detach()
        rv = (1 - momentum) * p["norm.running_var"] + momentum * var.detach() * n / (n - 1)
    else:
        mean, var = p["norm.running_mean"], p["norm.running_var"]
        rm, rv = mean, var
    y = (r - mean) / torch.sqrt(var + eps) * p["norm.weight"] + p["norm.bias"]
    return y.reshape(T, N, H), rm, rv


# ------------------------------------------------------------------ sparch and SSM-inspired-LIF
E = math.exp
LIMS = dict(alpha=(E(-1 / 5), E(-1 / 25)), beta=(E(-1 / 30), E(-1 / 120)), a=(-1.0, 1.0), b=(0.0, 2.0))
LIMS_CAD = dict(alpha=(0.36, 0.96), beta=(0.96, 0.99), a=(0.0, 1.0), b=(0.0, 2.0))
LIMS_SILIF = dict(a=(0.0, 1.0), b=(0.0, 2.0))


def sparch_cell(wx, p, init, thr=1.0, lims=LIMS, silif=False):
    cl = lambda n: p[n].clamp(min=lims[n][0], max=lims[n][1])
    adaptive, recurrent = "a" in p, "V.weight" in p
    if silif:
        alpha = torch.exp(-torch.exp(p["alpha"]) * torch.exp(p["dt"]))
        beta = torch.exp(-torch.exp(p["beta"]) * torch.exp(p["dt"]))
    else:
        alpha = cl("alpha")
        beta = cl("beta") if adaptive else None
    a, b = (cl("a"), cl("b")) if adaptive else (None, None)
    V = None
    if recurrent:
        V = p["V.weight"] * (1 - torch.eye(p["V.weight"].shape[0], dtype=wx.dtype))
    u, s, w = init["u"], init["s"], init.get("w")
    U, W, S = [], [], []
    for t in range(wx.shape[0]):
        i = wx[t]
        if adaptive:
            w = beta * w + a * u + b * s            # old u, old s
        if recurrent:
            i = i + s @ V                           # not s @ V.T
        if adaptive:
            i = i - w                               # new w
        u = alpha * (u - s) + (1 - alpha) * i
        s = spike(u - thr, "boxcar")
        U.append(u); S.append(s); W.append(w)
    r = dict(u=torch.stack(U), s=torch.stack(S))
    if adaptive:
        r["w"] = torch.stack(W)
    return r


def csilif_cell(wx, p, init, thr=1.0, reset=0.5):
    """u is complex: kept as real and imaginary part. spike where 2*Re(u) > thr; only Re(u) is reset."""
    r = -torch.exp(p["log_log_alpha"]) * torch.exp(p["log_dt"])
    th = p["alpha_img"] * torch.exp(p["log_dt"])
    ar, ai = torch.exp(r) * torch.cos(th), torch.exp(r) * torch.sin(th)
    ur, ui, s = init["u_re"], init["u_im"], init["s"]
    UR, UI, S = [], [], []
    for t in range(wx.shape[0]):
        vr = ur - reset * s
        ur, ui = ar * vr - ai * ui + p["b"] * wx[t], ar * ui + ai * vr
        s = spike(2 * ur - thr, "boxcar")
        UR.append(ur); UI.append(ui); S.append(s)
    return dict(u_re=torch.stack(UR), u_im=torch.stack(UI), s=torch.stack(S))


def sparch_readout_cell(wx, p, init, lims=LIMS):
    alpha = p["alpha"].clamp(min=lims["alpha"][0], max=lims["alpha"][1])
    u, out, U = init["u"], torch.zeros_like(init["u"]), []
    for t in range(wx.shape[0]):
        u = alpha * u + (1 - alpha) * wx[t]
        out = out + F.softmax(u, dim=1)
        U.append(u)
    return dict(u=torch.stack(U), out=out)


# ------------------------------------------------------------------ SE-adLIF (Baronig et al.)
def tau_decay(w, lo, hi):
    tau = w * hi + (1.0 - w) * lo
    return torch.exp(-1.0 / tau)


def seadlif_cell(x, p, init, c, symplectic):
    """p: weight, bias, recurrent?, tau_u, tau_w, a, b (a and b are used unclamped here)."""
    du = tau_decay(p["tau_u_trainer.weight"], *c["tau_u_range"])
    u, z, w = init["u"], init["z"], init.get("w")
    adaptive = w is not None
    dw = tau_decay(p["tau_w_trainer.weight"], *c["tau_w_range"]) if adaptive else None
    U, H, Z, W = [], [], [], []
    for t in range(x.shape[0]):
        i = F.linear(x[t], p["weight"], p["bias"])
        if "recurrent" in p:
            i = i + F.linear(z, p["recurrent"])
        u0, z0 = u, z
        h = du * u + (1.0 - du) * ((i - w) if adaptive else i)      # old w
        z = spike(h - c["thr"], "slayer", alpha=c["alpha"], c=c["c"])
        u = h * (1 - z.detach())                                    # hard reset to 0, detached
        if adaptive:
            if symplectic:
                w = dw * w + (1.0 - dw) * (p["a"] * u + p["b"] * z) * c["q"]
            else:
                w = dw * w + (1.0 - dw) * (p["a"] * u0 + p["b"] * z0) * c["q"]
            W.append(w)
        U.append(u); Z.append(z); H.append(h)
    r = dict(h=torch.stack(H), u=torch.stack(U), s=torch.stack(Z))
    if adaptive:
        r["w"] = torch.stack(W)
    return r


def li_cell(x, p, init):
    d = torch.exp(-1.0 / p["tau_u_trainer.weight"])
    u, U = init["u"], []
    for t in range(x.shape[0]):
        u = d * u + (1.0 - d) * F.linear(x[t], p["weight"], p["bias"])
        U.append(u)
    return torch.stack(U)


# ------------------------------------------------------------------ SpikingJelly LIF (hard reset)
def sj_lif(x, v, tau, thr, v_reset, decay_input, detach_reset, alpha, kind="sj_atan", **kk):
    H, V, S = [], [], []
    vr = 0.0 if v_reset is None else v_reset
    k = dict(alpha=alpha) if kind == "sj_atan" else kk
    for t in range(x.shape[0]):
        h, s, v = sj_lif_step(x[t], v, tau, thr, v_reset, vr, decay_input, detach_reset, kind, k)
        H.append(h); V.append(v); S.append(s)
    return dict(h=torch.stack(H), v=torch.stack(V), s=torch.stack(S))


def sj_lif_step(x, v, tau, thr, v_reset, vr, decay_input, detach_reset, kind, k):
    h = v + (x - (v - vr)) / tau if decay_input else v - (v - vr) / tau + x
    s = spike(h - thr, kind, **k)
    sd = s.detach() if detach_reset else s
    v = h - sd * thr if v_reset is None else (1.0 - sd) * h + sd * v_reset
    return h, s, v


def sj_container(x, p, init, c):
    """LinearRecurrentContainer(LIFNode): i = W [x; y] + b, and W maps the input too."""
    y, v, H, V, S = init["y"], init["v"], [], [], []
    k = dict(alpha=c["alpha"])
    for t in range(x.shape[0]):
        i = F.linear(torch.cat((x[t], y), -1), p["rc.weight"], p.get("rc.bias"))
        h, y, v = sj_lif_step(i, v, c["tau"], c["v_threshold"], c["v_reset"], c["v_reset"] or 0.0,
                              c["decay_input"], c["detach_reset"], "sj_atan", k)
        H.append(h); V.append(v); S.append(y)
    return dict(h=torch.stack(H), v=torch.stack(V), s=torch.stack(S))


# ------------------------------------------------------------------ snnTorch RLeaky, RSynaptic
def snn_recurrent(x, p, init, c):
    """RLeaky, or RSynaptic where c has 'synaptic'. Reset signal of the old membrane, detached."""
    s, m, i = init["spk"], init["mem"], init.get("syn")
    thr = p["threshold"] if "threshold" in p else c["threshold"]
    beta = p["beta"].clamp(0, 1)
    alpha = p["alpha"].clamp(0, 1) if "alpha" in p else None
    sur = dict(kind=c["surrogate"], **c["surrogate_constants"])
    rec = (lambda s: F.linear(s, p["recurrent.weight"], p.get("recurrent.bias"))) if "recurrent.weight" in p \
        else (lambda s: s * p["V"])
    M, S, I = [], [], []
    for t in range(x.shape[0]):
        reset = (m - thr > 0).to(m.dtype).detach()
        if alpha is not None:
            i = alpha * i + x[t] + rec(s)
            base = beta * m + i
        else:
            base = beta * m + x[t] + rec(s)
        if c["reset_mechanism"] == "subtract":
            m = base - reset * thr
        elif c["reset_mechanism"] == "zero":
            m = base - reset * base
            if alpha is not None:
                pass                                   # syn is not reset
        else:
            m = base
        s = spike(m - thr, **sur)
        if not c["reset_delay"]:
            do = s - reset                             # attached: the gradient flows through the reset
            if c["reset_mechanism"] == "subtract":
                m = m - do * thr
            elif c["reset_mechanism"] == "zero":
                m = m - do * m
        M.append(m); S.append(s)
        if alpha is not None:
            I.append(i)
    r = dict(mem=torch.stack(M), s=torch.stack(S))
    if alpha is not None:
        r["syn"] = torch.stack(I)
    return r


# ------------------------------------------------------------------ norse LIFRecurrentCell
def norse_lif_recurrent(x, p, init, c):
    z, v, i = init["z"], init["v"], init["i"]
    V, I, Z = [], [], []
    for t in range(x.shape[0]):
        j = i + F.linear(x[t], p["input_weights"]) + F.linear(z, p["recurrent_weights"])
        h = v + c["dt"] * c["tau_mem_inv"] * ((c["v_leak"] - v) + j)
        i = j + -c["dt"] * c["tau_syn_inv"] * j
        z = spike(h - c["v_th"], "super", alpha=c["alpha"])
        v = (1 - z.detach()) * h + z.detach() * c["v_reset"]
        V.append(v); I.append(i); Z.append(z)
    return dict(v=torch.stack(V), i=torch.stack(I), s=torch.stack(Z))


# ------------------------------------------------------------------ adaptive SRNN of Yin et al.
def yin_step(i, m, s, b, tau_m, tau_adp, c):
    alpha, ro = torch.exp(-1.0 * c["dt"] / tau_m), torch.exp(-1.0 * c["dt"] / tau_adp)
    b = ro * b + (1 - ro) * s
    B = c["b_j0"] + c["beta"] * b
    m = m * alpha + (1 - alpha) * c["R_m"] * i - B * s * c["dt"]
    s = spike(m - B, "multi_gauss", **c["surrogate"])
    return m, s, b, B


# ------------------------------------------------------------------ DCLS, 1-d
def dcls_kernel(W, P, SIG, K, version):
    """W [out, in, n], P [1, out, in, n], SIG like P -> kernel [out, in, K] of a cross-correlation."""
    pos = P[0] + K // 2                                             # [out, in, n]
    idx = torch.arange(K, dtype=W.dtype).view(K, 1, 1, 1)
    d = idx - pos
    if version == "gauss":
        g = torch.exp(-0.5 * (d / (SIG[0].abs() + 0.27)) ** 2)
    elif version == "max":
        g = ((SIG[0].abs() + 1.0) - d.abs()).relu()
    else:                                                           # v1
        g = (1 - d.abs()).relu()
    g = g / (g.sum(0) + 1e-7)
    return (g * W).sum(-1).permute(1, 2, 0)


def dcls_conv(x, kernel, left, right, bias=None):
    """x [T, N, in] -> [T + left + right - K + 1, N, out]"""
    y = F.conv1d(F.pad(x.permute(1, 2, 0), (left, right)), kernel, bias)
    return y.permute(2, 0, 1)


# ------------------------------------------------------------------ DelRec
def delrec_mask(d, sigma, p_spread=None):
    s = 1.0 + 2.0 * sigma * torch.sigmoid(p_spread) if p_spread is not None \
        else torch.as_tensor(1.0 + sigma, dtype=d.dtype)
    L = int(torch.ceil(1.0 + d.max() + s.max()).item()) + 1
    k = torch.arange(L, dtype=d.dtype)
    if d.dim() == 1:
        sv = s[:, None] if p_spread is not None else s
        return torch.clamp(sv - (k[None] - (1.0 + d)[:, None]).abs(), min=0.0) / (sv * sv)      # [pre, L]
    sv = s.view(1, -1, 1) if p_spread is not None else s
    return torch.clamp(sv - (k[None, None] - (1.0 + d)[:, :, None]).abs(), min=0.0) / (sv * sv)  # [post, pre, L]


def delrec_cell(x, p, init, c, mask_drop=None):
    """rec[t] = sum_k sum_o W[i,o] m[o,k] y_o[t-k], k >= 1. x [T, N, H]"""
    m = delrec_mask(p["recurrent_delays"], c["sigma"], p.get("p_spread"))
    W, L = p["recurrent_weights"], m.shape[-1]
    Y, V, H, R = [], [], [], []
    v = init["v"]
    kind = c["surrogate"]
    for t in range(x.shape[0]):
        rec = torch.zeros_like(x[t])
        for k in range(1, min(L - 1, t) + 1):
            mk = m[..., k]
            if m.dim() == 2:
                rec = rec + (Y[t - k] * mk) @ W.T
            else:
                rec = rec + Y[t - k] @ (W * mk).T
        R.append(rec)
        i = x[t] + (rec * mask_drop if mask_drop is not None else rec)
        h, s, v = sj_lif_step(i, v, c["tau"], c["v_threshold"], c["v_reset"], c["v_reset"] or 0.0,
                              c["decay_input"], c["detach_reset"], kind, c["surrogate_constants"])
        Y.append(s); V.append(v); H.append(h)
    return dict(rec=torch.stack(R), h=torch.stack(H), v=torch.stack(V), s=torch.stack(Y))


# ------------------------------------------------------------------ snnTorch SynapticDelay
def synaptic_delay(x, delay, max_delay, kernel, sigma):
    d = delay.clamp(0.0, max_delay)
    if d.dim() == 0:
        d = d.expand(x.shape[-1])
    lag = torch.arange(max_delay + 1, dtype=x.dtype)[None]
    diff = lag - d[:, None]
    w = (1 - diff.abs()).clamp(min=0.0) if kernel == "linear" else torch.exp(-(diff ** 2) / (2 * sigma ** 2))
    w = w / w.sum(1, keepdim=True).clamp(min=1e-12)
    T = x.shape[0]
    out = []
    for t in range(T):
        o = torch.zeros_like(x[0])
        for k in range(min(max_delay, t) + 1):
            o = o + x[t - k] * w[:, k]
        out.append(o)
    return torch.stack(out), w
