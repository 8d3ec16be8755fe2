//! `#[derive(Module)]`: a struct whose fields are modules.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Field, Fields, GenericArgument, Generics, Ident, Path,
    PathArguments, Type,
};

/// The methods of the trait, which a child would hide.
const OF_THE_TRAIT: [&str; 4] = ["forward", "chain", "tree", "describe"];

/// The attributes of a struct.
#[derive(Default)]
struct Options {
    /// Whether only the methods of the children are generated.
    children: bool,
    /// The path of the crate that has `module`.
    path: Option<Path>,
}

pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let ty = &input.ident;
    let fields = match &input.data {
        Data::Struct(data) => &data.fields,
        Data::Enum(_) => return Err(not_a_struct(ty, "an enum")),
        Data::Union(_) => return Err(not_a_struct(ty, "a union")),
    };
    if let Fields::Unnamed(_) = fields {
        let text = format!(
            "children are named by their fields: give those of `{ty}` names, as in \
             `struct {ty} {{ trunk: Sequential }}`"
        );
        return Err(syn::Error::new_spanned(ty, text));
    }
    let options = options(&input.attrs)?;
    let derived = root(options.path.as_ref());
    let mut generics = input.generics.clone();
    let (mut methods, mut trees) = (vec![], vec![]);
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        if is_skipped(field)? {
            continue;
        }
        let name = ident.unraw().to_string();
        if !options.children && OF_THE_TRAIT.contains(&name.as_str()) {
            let text = format!(
                "a child `{name}` would hide the method `{name}` of `Module`: give the field another name, or mark it \
                 `#[module(skip)]`"
            );
            return Err(syn::Error::new_spanned(ident, text));
        }
        let (module, several) = match element(&field.ty) {
            Some(element) => (element, true),
            None => (&field.ty, false),
        };
        if mentions_parameter(quote!(#module), &input.generics) {
            let bound = syn::parse_quote!(#module: #derived::Module);
            generics.make_where_clause().predicates.push(bound);
        }
        let (run, doc) = match several {
            true => (
                format_ident!("children"),
                format!("The children `{name}.0`, `{name}.1`, …, one after the other."),
            ),
            false => (format_ident!("child"), format!("The child `{name}`.")),
        };
        let tree = format_ident!("{run}_tree");
        // Errors are shown at the type of the field.
        let at = field.ty.span().resolved_at(Span::call_site());
        let run = quote_spanned!(at=> #derived::#run(cx, #name, &self.#ident, x));
        trees.push(quote_spanned!(at=> let tree = #derived::#tree(tree, #name, &self.#ident);));
        methods.push(quote! {
            #[doc = #doc]
            #[allow(dead_code)]
            fn #ident(
                &self,
                cx: &#derived::Context,
                x: &#derived::Var,
            ) -> #derived::Result<#derived::Var> {
                #run
            }
        });
    }
    let (of_impl, of_type, bounds) = generics.split_for_impl();
    let children = (!methods.is_empty()).then(|| {
        quote! {
            impl #of_impl #ty #of_type #bounds {
                #(#methods)*
            }
        }
    });
    if options.children {
        return Ok(quote!(#children));
    }
    // An inherent function takes precedence over those of traits. Without one the call is ambiguous, which is an error: the
    // function of the trait would call itself.
    let at = ty.span().resolved_at(Span::call_site());
    let forward = quote_spanned!(at=> Self::forward(self, cx, x));
    Ok(quote! {
        #children

        impl #of_impl #derived::Module for #ty #of_type #bounds {
            fn forward(
                &self,
                cx: &#derived::Context,
                x: &#derived::Var,
            ) -> #derived::Result<#derived::Var> {
                #[allow(unused_imports)]
                use #derived::{Module as _, StructHasNoForward as _};
                #forward
            }

            fn tree(&self) -> #derived::Tree {
                let tree = #derived::Tree::for_type::<Self>();
                #(#trees)*
                tree
            }
        }
    })
}

fn not_a_struct(ty: &Ident, kind: &str) -> syn::Error {
    let text = format!(
        "`{ty}` is {kind}: only a struct with named fields derives `Module`; write `impl Module for {ty}`"
    );
    syn::Error::new_spanned(ty, text)
}

/// The path of the items that the generated code uses.
fn root(path: Option<&Path>) -> TokenStream {
    let own = std::env::var("CARGO_PKG_NAME").is_ok_and(|name| name.starts_with("spikelet-"));
    match path {
        Some(path) => quote!(#path::module::derived),
        None if own => quote!(::spikelet_nn::module::derived),
        None => quote!(::spikelet::module::derived),
    }
}

fn options(attributes: &[Attribute]) -> syn::Result<Options> {
    let mut options = Options::default();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("module")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("children") {
                options.children = true;
            } else if meta.path.is_ident("crate") {
                options.path = Some(meta.value()?.call(Path::parse_mod_style)?);
            } else {
                return Err(meta.error(
                    "unknown attribute of a struct: known are `children` (no `impl Module`) and `crate = path`; \
                     `skip` is one of a field",
                ));
            }
            Ok(())
        })?;
    }
    Ok(options)
}

/// Whether a field is not a child.
fn is_skipped(field: &Field) -> syn::Result<bool> {
    let mut skipped = false;
    for attribute in field.attrs.iter().filter(|a| a.path().is_ident("module")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("skip") {
                let text =
                    "unknown attribute of a field: known is `skip`, for a field that is no child";
                return Err(meta.error(text));
            }
            skipped = true;
            Ok(())
        })?;
    }
    Ok(skipped)
}

/// The type of the elements of a `Vec` or an array.
fn element(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Group(group) => element(&group.elem),
        Type::Paren(paren) => element(&paren.elem),
        Type::Array(array) => Some(&array.elem),
        Type::Path(path) => {
            let last = path
                .path
                .segments
                .last()
                .filter(|last| last.ident == "Vec")?;
            match &last.arguments {
                PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
                    GenericArgument::Type(element) => Some(element),
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether the tokens of a type name a type parameter.
fn mentions_parameter(tokens: TokenStream, generics: &Generics) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => generics.type_params().any(|p| p.ident == ident),
        TokenTree::Group(group) => mentions_parameter(group.stream(), generics),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(text: &str) -> Result<String, String> {
        let input = syn::parse_str(text).expect("an item");
        match derive(&input) {
            Ok(tokens) => Ok(tokens.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn children_have_methods_and_skipped_fields_have_none() {
        let text = "struct Net { trunk: Sequential, #[module(skip)] steps: usize, blocks: Vec<M> }";
        let code = derived(text).expect("code");
        for part in ["fn trunk", "fn blocks", "\"blocks\"", "Module for Net"] {
            assert!(code.contains(part), "{part} in {code}");
        }
        assert!(!code.contains("steps"), "{code}");
        let only = derived("#[module(children)] struct Net { r#box: Linear }").expect("code");
        assert!(
            only.contains("fn r#box") && only.contains("\"box\""),
            "{only}"
        );
        assert!(!only.contains("Module for"), "{only}");
        let path = derived("#[module(crate = other::nn)] struct Net {}").expect("code");
        assert!(path.contains("other :: nn :: module :: derived"), "{path}");
    }

    #[test]
    fn children_of_generic_types_are_bounded() {
        let code =
            derived("struct Net<M, T> { inner: M, more: Vec<Box<M>>, #[module(skip)] t: T }");
        let code = code.expect("code").replace(' ', "");
        assert!(
            code.contains("whereM:") && code.contains(",Box<M>:"),
            "{code}"
        );
        assert!(!code.contains("T:"), "{code}");
    }

    #[test]
    fn refusals_say_what_to_do() {
        for (text, help) in [
            ("enum E { A }", "write `impl Module for E`"),
            ("union U { a: u8 }", "write `impl Module for U`"),
            ("struct Net(Linear);", "struct Net { trunk: Sequential }"),
            ("#[module(skip)] struct Net {}", "`skip` is one of a field"),
            (
                "struct Net { #[module(children)] a: Linear }",
                "known is `skip`",
            ),
            ("struct Net { forward: Linear }", "another name"),
        ] {
            let error = derived(text).expect_err(text);
            assert!(error.contains(help), "{text}: {error}");
        }
        derived("#[module(children)] struct Net { forward: Linear }").expect("no trait");
    }
}
