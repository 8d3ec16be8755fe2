//! Structs with fields.

use crate::options::{Options, documentation, kebab};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Field};

const OF_FIELDS: [&str; 17] = [
    "default", "table", "required", "kept", "main", "unit", "none", "key", "flatten", "rest",
    "skip", "above", "at_least", "from", "below", "at_most", "to",
];

pub(crate) fn derive<'a>(
    input: &DeriveInput,
    fields: impl Iterator<Item = &'a Field>,
) -> syn::Result<TokenStream> {
    let ty = &input.ident;
    let own = Options::of(
        &input.attrs,
        &["name", "check", "earlier", "crate", "own_value"],
    )?;
    let schema = own.schema();
    let name = own
        .name
        .map_or_else(|| kebab(&ty.to_string()), |name| name.value());
    let doc = documentation(&input.attrs);
    let (mut defaults, mut declared, mut read) = (vec![], vec![], vec![]);
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let options = Options::of(&field.attrs, &OF_FIELDS)?;
        let default = match &options.default {
            Some(default) => quote!(#default),
            None => quote!(::std::default::Default::default()),
        };
        defaults.push(quote!(#ident: #default));
        if !options.skip {
            declared.push(declaration(&schema, field, &options));
            read.push(ident);
        }
    }
    let indices = 0..read.len();
    let indices_mut = indices.clone();
    let check = own.check.map(|check| {
        quote! {
            fn check_own(&self) -> ::std::result::Result<(), #schema::document::Located> {
                (#check)(self).map_err(#schema::derived::refused)
            }
        }
    });
    let earlier = own.earlier.map(|earlier| {
        quote! {
            fn earlier(&self, table: &#schema::document::Node) -> ::std::option::Option<#schema::document::Node> {
                (#earlier)(table)
            }
        }
    });
    let value = (!own.own_value).then(|| {
        quote! {
            impl #schema::FieldValue for #ty {
                fn kind() -> #schema::Kind {
                    #schema::Kind::Table(<Self as #schema::Schema>::DECLARATION)
                }

                fn read(
                    &mut self,
                    _: &#schema::Field,
                    node: &#schema::document::Node,
                ) -> ::std::result::Result<(), #schema::document::Located> {
                    *self = #schema::read(node)?;
                    Ok(())
                }

                fn write(&self) -> #schema::derived::serde_json::Value {
                    #schema::to_json(self).into()
                }

                fn check(&self) -> ::std::result::Result<(), #schema::document::Located> {
                    #schema::check(self)
                }

                fn record(&self) -> ::std::option::Option<&dyn #schema::Record> {
                    ::std::option::Option::Some(self)
                }

                fn record_mut(&mut self) -> ::std::option::Option<&mut dyn #schema::RecordMut> {
                    ::std::option::Option::Some(self)
                }
            }
        }
    });
    let type_name = ty.to_string();
    Ok(quote! {
        impl ::std::default::Default for #ty {
            fn default() -> Self {
                Self { #(#defaults),* }
            }
        }

        impl #schema::Schema for #ty {
            const DECLARATION: &'static #schema::Declaration = {
                const FIELDS: &[#schema::Field] = &[#(#declared),*];
                &#schema::Declaration {
                    name: #name,
                    type_name: #type_name,
                    doc: #doc,
                    fields: FIELDS,
                    default: || ::std::boxed::Box::new(<#ty as ::std::default::Default>::default()),
                }
            };
        }

        impl #schema::Record for #ty {
            fn declaration(&self) -> &'static #schema::Declaration {
                <Self as #schema::Schema>::DECLARATION
            }

            fn field(&self, index: usize) -> &dyn #schema::FieldValue {
                match index {
                    #(#indices => &self.#read,)*
                    _ => ::std::panic!("a field of the declaration"),
                }
            }

            #check

            #earlier

            fn as_type(&self) -> ::std::option::Option<&dyn ::std::any::Any> {
                ::std::option::Option::Some(self)
            }
        }

        impl #schema::RecordMut for #ty {
            fn field_mut(&mut self, index: usize) -> &mut dyn #schema::FieldValue {
                match index {
                    #(#indices_mut => &mut self.#read,)*
                    _ => ::std::panic!("a field of the declaration"),
                }
            }
        }

        #value

        impl #schema::derived::serde::Serialize for #ty {
            fn serialize<S: #schema::derived::serde::Serializer>(
                &self,
                to: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                #schema::derived::serialized::serialize(self, to)
            }
        }

        impl<'de> #schema::derived::serde::Deserialize<'de> for #ty {
            fn deserialize<D: #schema::derived::serde::Deserializer<'de>>(
                from: D,
            ) -> ::std::result::Result<Self, D::Error> {
                #schema::derived::serialized::deserialize(from)
            }
        }
    })
}

/// The entry of a field in the declaration.
fn declaration(schema: &TokenStream, field: &Field, options: &Options) -> TokenStream {
    let ty = &field.ty;
    let key = options.name.as_ref().map_or_else(
        || {
            field
                .ident
                .as_ref()
                .map(|ident| ident.to_string().trim_start_matches("r#").to_string())
                .unwrap_or_default()
        },
        |name| name.value(),
    );
    let doc = documentation(&field.attrs);
    let text = |given: &Option<syn::LitStr>, otherwise: &str| {
        given.as_ref().map_or(otherwise.to_string(), |t| t.value())
    };
    let (unit, none, table) = (
        text(&options.unit, ""),
        text(&options.none, "none"),
        text(&options.table, ""),
    );
    let domain = match &options.domain[..] {
        [] => quote!(::std::option::Option::None),
        [first, more @ ..] => {
            // A domain without a lower limit begins with all numbers.
            let begins = first.to_string();
            let constructor = begins.starts_with("above") || begins.starts_with("at_least");
            let first = match constructor {
                true => quote!(#schema::Domain::#first),
                false => quote!(#schema::Domain::FINITE.#first),
            };
            quote!(::std::option::Option::Some(#first #(.#more)*))
        }
    };
    let role = match (options.flatten, options.main, options.rest) {
        (true, ..) => quote!(Flatten),
        (_, true, _) => quote!(Main),
        (.., true) => quote!(Rest),
        _ => quote!(Key),
    };
    let (required, kept) = (options.required, options.kept);
    quote! {
        #schema::Field {
            key: #key,
            doc: #doc,
            unit: #unit,
            kind: <#ty as #schema::FieldValue>::kind,
            domain: #domain,
            none: #none,
            table: #table,
            role: #schema::Role::#role,
            required: #required,
            kept: #kept,
        }
    }
}
