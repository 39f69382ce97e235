/** The arguments and results that operations on credentials share. */
import { object } from '../../../engine/config/shape.ts'
import { OWN_KEY, OWN_TOKEN } from '../../rows/accounts.ts'
import type { Shape } from '../../shapes.ts'
import { queryFault } from '../faults.ts'
import { idOf, KEY_NUMBER, KIND, kindOf, OF_KEYS } from '../key-settings.ts'
import { keysPage, onlyOf, viewFor } from '../keys.ts'
import type { CommandInput, Context, OwnForm } from '../operation.ts'
import type { OwnKind } from '../own-keys.ts'

interface Parts extends Omit<OwnForm, 'view' | 'result'> {
  /** From the schema of one credential. */
  readonly result?: (one: Shape) => Shape
}
const same = (one: Shape): Shape => one
/** A view of API keys, and one of system tokens. `name`: the view of a noun. */
export const ownForms = (
  name: (noun: string) => string,
  summary: string,
  { result = same, ...form }: Parts = {},
): readonly OwnForm[] => [
  {
    ...form,
    view: name('key'),
    summary,
    fixed: { kind: 'key' },
    without: [...(form.without ?? []), 'scope'],
    result: result(OWN_KEY),
  },
  {
    ...form,
    view: name('token'),
    summary: summary
      .replaceAll('an API key', 'a system token')
      .replaceAll('API key', 'system token'),
    fixed: { kind: 'system-token' },
    without: [...(form.without ?? []), ...OF_KEYS],
    result: result(OWN_TOKEN),
  },
]

export const ONE = object(undefined, { key: KEY_NUMBER, kind: KIND })
export const readOne = ({ positionals, values }: CommandInput) => {
  const kind = kindOf(values)
  return { key: idOf(positionals, kind), kind }
}

const USUAL = 100
interface Page {
  readonly limit?: number
  readonly cursor?: string
}
export const pageFor = async (
  context: Context,
  { kind, account }: { readonly kind: OwnKind; readonly account: number | undefined },
  { limit = USUAL, cursor }: Page,
) => {
  const after = cursor === undefined ? 0 : numberIn(cursor, kind)
  const member = account === undefined ? undefined : onlyOf(kind, context.member)
  const { keys, next } = await keysPage(context.store, { kind, account, member, after, limit })
  return {
    data: keys.map(key => viewFor(context, kind, key)),
    next: next === null ? null : `${kind}:${next}`,
  }
}
const numberIn = (cursor: string, kind: OwnKind): number => {
  const [, list, number] = /^([a-z-]+):(\d{1,15})$/.exec(cursor) ?? []
  if (list !== kind) throw queryFault('cursor', '`next` of the page before')
  return Number(number)
}
