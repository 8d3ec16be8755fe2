//! The attributes `#[schema(…)]` and doc comments.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::parse::ParseStream;
use syn::{Attribute, Expr, Lit, LitStr, Meta, Token};

/// The options of a type, a field or a variant.
#[derive(Default)]
pub(crate) struct Options {
    pub name: Option<LitStr>,
    pub none: Option<LitStr>,
    pub unit: Option<LitStr>,
    pub table: Option<LitStr>,
    pub alias: Option<LitStr>,
    /// The path of `spikelet-schema`.
    pub path: Option<TokenStream>,
    pub default: Option<TokenStream>,
    pub check: Option<TokenStream>,
    pub earlier: Option<TokenStream>,
    /// Calls of methods of `Domain`, of which the first is a constructor.
    pub domain: Vec<TokenStream>,
    pub main: bool,
    pub required: bool,
    pub kept: bool,
    pub flatten: bool,
    pub rest: bool,
    pub skip: bool,
    pub own_value: bool,
    pub snake_case: bool,
}

impl Options {
    /// The options of these attributes, of which `allowed` may be given.
    pub(crate) fn of(attributes: &[Attribute], allowed: &[&str]) -> syn::Result<Self> {
        let mut options = Self::default();
        for attribute in attributes.iter().filter(|a| a.path().is_ident("schema")) {
            attribute.parse_nested_meta(|meta| {
                let key = meta.path.require_ident()?.to_string();
                if !allowed.contains(&key.as_str()) {
                    return Err(meta.error(format!(
                        "`{key}` is unknown here; known: {}",
                        allowed.join(", ")
                    )));
                }
                match key.as_str() {
                    "name" | "key" => options.name = Some(meta.value()?.parse()?),
                    "none" => options.none = Some(meta.value()?.parse()?),
                    "alias" => options.alias = Some(meta.value()?.parse()?),
                    "table" => options.table = Some(meta.value()?.parse()?),
                    "crate" => options.path = Some(expression(meta.value()?)?),
                    "unit" => options.unit = Some(meta.value()?.parse()?),
                    "default" => options.default = Some(expression(meta.value()?)?),
                    "check" => options.check = Some(expression(meta.value()?)?),
                    "earlier" => options.earlier = Some(expression(meta.value()?)?),
                    "main" => options.main = true,
                    "required" => options.required = true,
                    "kept" => options.kept = true,
                    "rest" => options.rest = true,
                    "flatten" => options.flatten = true,
                    "skip" => options.skip = true,
                    "own_value" => options.own_value = true,
                    "snake_case" => options.snake_case = true,
                    limit => {
                        let value = expression(meta.value()?)?;
                        let method = match (limit, options.domain.is_empty()) {
                            ("from" | "at_least", true) => quote!(at_least),
                            ("above", true) => quote!(above),
                            ("to" | "at_most", _) => quote!(at_most),
                            ("below", _) => quote!(below),
                            _ => return Err(meta.error("a lower limit comes first")),
                        };
                        options.domain.push(quote!(#method((#value) as f64)));
                    }
                }
                Ok(())
            })?;
        }
        Ok(options)
    }
}

impl Options {
    /// The path of `spikelet-schema` in the crate that is compiled: programs use it through `spikelet`.
    pub(crate) fn schema(&self) -> TokenStream {
        let own = std::env::var("CARGO_PKG_NAME").is_ok_and(|name| name.starts_with("spikelet-"));
        match &self.path {
            Some(path) => path.clone(),
            None if own => quote!(::spikelet_schema),
            None => quote!(::spikelet::schema),
        }
    }
}

/// The tokens up to the next comma.
fn expression(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    match tokens.is_empty() {
        true => Err(input.error("an expression is missing")),
        false => Ok(tokens),
    }
}

/// The doc comment, without its examples.
pub(crate) fn documentation(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    let mut code = false;
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        let Meta::NameValue(pair) = &attribute.meta else {
            continue;
        };
        // A literal of a macro is in a group.
        let value = match &pair.value {
            Expr::Group(group) => &*group.expr,
            value => value,
        };
        let Expr::Lit(literal) = value else {
            continue;
        };
        let Lit::Str(line) = &literal.lit else {
            continue;
        };
        for line in line
            .value()
            .lines()
            .chain(line.value().is_empty().then_some(""))
        {
            let line = line.strip_prefix(' ').unwrap_or(line);
            if line.starts_with("```") {
                code = !code;
            } else if !code {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    without_links(text.trim())
}

/// A text without links to items: ``[`Lif`](crate::Lif)`` is `` `Lif` ``.
fn without_links(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (name, rest) = part.split_once("`]").unwrap_or((part, ""));
        let target = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let rest = target.map_or(rest, |(_, rest)| rest);
        plain.push_str(&format!("`{name}`{rest}"));
    }
    plain.replace("\\[", "[").replace("\\]", "]")
}

/// The name of a type or a variant in files: `RandomCrop` is `random-crop`.
pub(crate) fn kebab(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(letter.to_lowercase());
    }
    text
}
