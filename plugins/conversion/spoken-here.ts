/** What a route says of the format its clients speak: its name alone, or that and whether anything may be lost. */

export type Spoken = string | { readonly format: string; readonly strict?: boolean }

export const readSpoken = (said: Spoken): { readonly format: string; readonly strict: boolean } =>
  typeof said === 'string' ? { format: said, strict: false } : { strict: false, ...said }

/** `example`: one of `names`. */
export const spokenSchema = (description: string, names: readonly string[], example: string) => {
  const format = { description, type: 'string', enum: names, examples: [example] }
  const whole = { format: example, strict: true }
  return {
    anyOf: [
      format,
      {
        description: 'The format, and whether anything may be lost on the way.',
        type: 'object',
        required: ['format'],
        additionalProperties: false,
        properties: {
          format,
          strict: {
            description:
              'Refuses a request with a field that its target cannot carry, instead of naming it in x-tollgate-dropped.',
            type: 'boolean',
            examples: [true],
          },
        },
        examples: [whole],
      },
    ],
    description,
    examples: [example, whole],
  }
}
