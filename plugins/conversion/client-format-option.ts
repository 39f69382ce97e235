/** The client format option of a route: a format's name, or an object that also sets `strict`. */

export type ClientFormatOption = string | { readonly format: string; readonly strict?: boolean }

export const readClientFormat = (
  option: ClientFormatOption,
): { readonly format: string; readonly strict: boolean } =>
  typeof option === 'string' ? { format: option, strict: false } : { strict: false, ...option }

/** `example`: one of `names`. */
export const clientFormatSchema = (
  description: string,
  names: readonly string[],
  example: string,
) => {
  const format = { description, type: 'string', enum: names, examples: [example] }
  const objectExample = { format: example, strict: true }
  return {
    anyOf: [
      format,
      {
        description: 'The format, and whether requests with unsupported fields are refused.',
        type: 'object',
        required: ['format'],
        additionalProperties: false,
        properties: {
          format,
          strict: {
            description:
              'Refuses a request with a field that its target does not support, instead of dropping the field and naming it in x-tollgate-dropped.',
            type: 'boolean',
            examples: [true],
          },
        },
        examples: [objectExample],
      },
    ],
    description,
    examples: [example, objectExample],
  }
}
