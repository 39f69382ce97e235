/** The client format option of a route: a format's name, or an object that also sets `strict`. */
import {
  anyOf,
  type Fields,
  flag,
  object,
  oneOf,
  orElse,
  reading,
  required,
} from '../../engine/config/shape.ts'
import { isFields } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'

/** Whether the option of a route refuses requests with fields that a target cannot carry. */
export const readStrict = (option: Json | undefined): boolean =>
  isFields(option) && option.strict === true

/** `example`: one of `names`. `notes`: more of the schema of the name. `more`: further members of
 *  the object. */
export const clientFormat = <const E extends string, const M extends Fields>(
  description: string,
  {
    names,
    example,
    notes,
  }: {
    readonly names: readonly string[]
    readonly example: E
    readonly notes?: object
  },
  more: M,
) => {
  const format = oneOf(description, names, { type: 'string', examples: [example], ...notes })
  const examples = [{ format: example, strict: true }]
  const options = object(
    'The format, and whether requests with unsupported fields are refused.',
    {
      format: required(format),
      strict: orElse(
        flag(
          'Refuses a request with a field that its target does not support, instead of dropping the field and naming it in x-tollgate-dropped.',
          { examples: [true] },
        ),
        false,
      ),
      ...more,
    },
    { examples },
  )
  const short = reading(format, name => options.read({ format: name } as never))
  return anyOf(description, [short, options], { examples: [example, ...examples] })
}
