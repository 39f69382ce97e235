/** The client format option of a route: a format's name, or an object that also sets `strict`. */
import { isFields } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'

export type ClientFormatOption =
  | string
  | { readonly format: string; readonly strict?: boolean; readonly prompt_cache?: Json }

export const readClientFormat = (
  option: ClientFormatOption,
): { readonly format: string; readonly strict: boolean; readonly prompt_cache?: Json } =>
  typeof option === 'string' ? { format: option, strict: false } : { strict: false, ...option }

/** Whether the option of a route refuses requests with fields that a target cannot carry. */
export const readStrict = (option: Json | undefined): boolean =>
  isFields(option) && option.strict === true

/** `example`: one of `names`; `withOwn`: or the name of a format that a plugin brings. `more`:
 *  further members of the object. */
export const clientFormatSchema = (
  description: string,
  names: readonly string[],
  example: string,
  withOwn = false,
  more: object = {},
) => {
  const format = {
    description,
    type: 'string',
    enum: names,
    ...(withOwn && { $comment: 'formats' }),
    examples: [example],
  }
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
          ...more,
        },
        examples: [objectExample],
      },
    ],
    description,
    examples: [example, objectExample],
  }
}
