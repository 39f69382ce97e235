/** Arguments that several operations have. */
import { integer, ofTypes, reading, required, type Shape, text } from '../../engine/config/shape.ts'
import { moneyIn } from '../billing/money.ts'
import { NAME_PATTERN } from '../ledger/budgets/terms.ts'
import { TAG_LIST, TAG_LIST_LENGTH } from '../slots.ts'
import { fault } from './faults.ts'
import type { Context } from './operation.ts'

export const ANY_ACCOUNT = reading(
  ofTypes('Name or number of an account.', ['string', 'integer'], { maxLength: 64 }),
  String,
)
export const ACCOUNT = required(ANY_ACCOUNT)
export const ANY_PLAN = text('The name of a plan in `plans:`.', { pattern: NAME_PATTERN })
export const PLAN = required(ANY_PLAN)
/** As changes name it. */
export const objectOf = ({ id }: { readonly id: number }): string => `account ${id}`
export const ACCOUNT_NAME = text('1 to 64 letters, digits, spaces and . _ @ + -.', {
  maxLength: 64,
  pattern: '^[\\p{L}\\p{N}][\\p{L}\\p{N} ._@+-]{0,63}$',
  errorMessage: "Invalid 'name': expected 1 to 64 letters, digits, spaces and . _ @ + -.",
})
/** Such a name would be ambiguous with the number of an account or a member. Throws
 *  ADMIN_NUMBER. */
export const refuseNumber = (name: string): void => {
  if (/^\d+$/.test(name)) throw fault('ADMIN_NUMBER')
}

/** Rows of a page. */
export const LIMIT = integer('How many rows a page has, 1 to 1,000; 100 by default.', {
  minimum: 1,
  maximum: 1_000,
})
export const CURSOR = text('`next` of the page before.', { maxLength: 256 })

/** The argument `amount`. Reads nanos. */
export const amount = (description: string) => required(anyAmount(description))
export const anyAmount = (description: string) =>
  reading(ofTypes(description, ['string', 'number'], { maxLength: 24 }), value =>
    moneyIn(value, 'amount'),
  )

export const NOTE = text('The reason, for the ledger.', {
  maxLength: 200,
  // Ranges instead of \p{Cc}: programs that read the OpenAPI document cannot all read classes.
  pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$',
  errorMessage: "Invalid 'note': expected one line of at most 200 characters.",
})
/** Who did it, if it was not the command line, is in the note. */
export const noteBy = ({ actor }: Context, note = ''): string =>
  actor.via === 'command line' ? note : `${note} (by ${actor.name})`.trim()

/** The same, or null, which removes the value. */
export const nullable = <Raw, Value, P extends 'required' | 'optional' | 'default'>(
  shape: Shape<Raw, Value, P>,
): Shape<Raw | null, Value | null, P> => {
  const { type, enum: words, ...rest } = shape.schema
  const schema = Array.isArray(words)
    ? { ...rest, enum: [...words, null] }
    : { ...rest, type: [type, 'null'].flat() }
  return { ...shape, schema, read: raw => (raw === null ? null : shape.read(raw)) }
}
/** `whose`: what has them. */
export const tagList = (whose: string) =>
  text(`${whose} calls have these tags, and no others of the same names.`, {
    pattern: TAG_LIST,
    maxLength: TAG_LIST_LENGTH,
    examples: ['project=alpha, feature=search'],
  })
