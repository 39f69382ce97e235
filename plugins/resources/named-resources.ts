/** Finds the objects of a provider that a request names, and the upstream, address and key that
 *  keep them. */
import type { Exchange, HostBase, Json, Target } from '../../engine/plugin.ts'
import { readAs } from '../credentials/members.ts'
import { isFields } from '../formats/fields.ts'
import { ACCOUNT, EXPANDED_REQUEST, MODEL } from '../slots.ts'
import { fault } from './faults.ts'
import { FIND_NAMED, type Resource, resourceOf, targetOf } from './rows.ts'

/** A text that is a name, or a URL that ends in one. `//` and `/./` count as `/`. */
const NAME = /(?:^|\/)(files|cachedContents)(?:\/\.?)*\/([A-Za-z0-9_-]{1,64})\/?(?:[:?#].*)?$/
/** Longer texts are not URLs of objects. */
const MOST = 1_024
/** Without any of these no text of the JSON is a name; a letter of it may be escaped, in the JSON
 *  or in a URL. */
const MARKS = ['files', 'cachedContents', '\\u00', '%4', '%6', '%7'].map(mark => Buffer.from(mark))
const mayName = (bytes: Uint8Array): boolean => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return MARKS.some(mark => buffer.includes(mark))
}

/** No object has it. */
const NO_ACCOUNT = 0

/** The name of an object that a text is or ends in, also if the text is percent-encoded. */
export const nameIn = (text: string): string | undefined => {
  const [, kind, id] = (text.length <= MOST && NAME.exec(decoded(text))) || []
  return kind === undefined ? undefined : `${kind}/${id}`
}
const decoded = (text: string): string =>
  text.includes('%') ? text.replace(/%[0-9a-f]{2}/gi, letter => unescapedOf(letter)) : text
const unescapedOf = (letter: string): string =>
  String.fromCharCode(Number.parseInt(letter.slice(1), 16))

/** The names in all texts of a body. */
const namesIn = (body: Json): ReadonlySet<string> => {
  const names = new Set<string>()
  const pending: Json[] = [body]
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (typeof value === 'string') {
      const name = nameIn(value)
      if (name !== undefined) names.add(name)
    } else if (Array.isArray(value)) for (const each of value) pending.push(each)
    else if (isFields(value)) for (const key in value) pending.push(value[key] ?? null)
  }
  return names
}

/** The objects of the account that the request names, or the conversation that it continues.
 *  Throws RESOURCE_UNKNOWN for those that the caller may not see. Names that no account has made
 *  here pass: they may be the operator's own. */
export const namedResources = async (
  { request, slots }: Exchange,
  host: HostBase,
): Promise<readonly Resource[]> => {
  const whole = slots.get(EXPANDED_REQUEST)?.body
  if (!whole && !mayName(await request.bytes())) return []
  const names = namesIn(whole ?? request.parsed ?? (await request.json()))
  if (names.size === 0) return []
  const caller = slots.get(ACCOUNT) ?? { id: NO_ACCOUNT }
  const rows = await readAs(host.database, caller, FIND_NAMED, [JSON.stringify([...names])])
  const resources = rows.filter(({ visible }) => Number(visible) === 1).map(resourceOf)
  const own = new Map(resources.map(each => [each.name, each]))
  const foreign = rows.map(resourceOf).find(({ name }) => !own.has(name))
  if (foreign) throw fault('RESOURCE_UNKNOWN', [foreign.name])
  return [...own.values()]
}
/** Sets the targets to those with the address and the key that keep the objects. */
export const keepTogether = (exchange: Exchange, resources: readonly Resource[]): void => {
  const [first] = resources
  if (!first) return
  const place = JSON.stringify(targetOf(first))
  const apart = resources.find(each => JSON.stringify(targetOf(each)) !== place)
  if (apart) throw fault('RESOURCES_APART', [first.name, apart.name])
  exchange.targets = exchange.targets
    .filter(({ upstream }) => upstream === first.upstream)
    .map(({ rules: _, affinity: __, ...target }): Target => ({ ...target, ...targetOf(first) }))
  if (exchange.targets.length === 0)
    throw fault('RESOURCE_ELSEWHERE', [exchange.slots.get(MODEL)?.asked ?? '', first.name])
}
