/** Edits of a JSON body: members that are renamed, dropped and set. All other bytes stay
 *  unchanged. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import type { Member } from './body-members.ts'

/** Under `body:` of an upstream. */
export interface BodyEdits {
  /** Name of a member -> its name at this upstream. */
  readonly rename?: Readonly<Record<string, string>>
  readonly drop?: readonly string[]
  readonly set?: Readonly<Record<string, Json>>
}

/** Body edits in the form in which they are applied. */
export interface CompiledEdits {
  readonly renames: ReadonlyMap<string, string>
  readonly drops: ReadonlySet<string>
  /** Names of the members that are set, and their text. */
  readonly sets: ReadonlyMap<string, string>
}

/** Undefined if there is nothing to edit. Later edits win. */
export const compileEdits = (
  ...all: readonly (BodyEdits | undefined)[]
): CompiledEdits | undefined => {
  const renames = new Map(all.flatMap(each => Object.entries(each?.rename ?? {})))
  const drops = new Set(all.flatMap(each => each?.drop ?? []))
  const sets = new Map(
    all
      .flatMap(each => Object.entries(each?.set ?? {}))
      .map(([key, value]) => [key, memberText(key, value)]),
  )
  return renames.size + drops.size + sets.size > 0 ? { renames, drops, sets } : undefined
}

/** The edited body; `bytes` itself if no edit applies. `members`: those of `bytes`. */
export const editBody = (
  bytes: Bytes,
  members: readonly Member[],
  { renames, drops, sets }: CompiledEdits,
): Bytes => {
  // A renamed member replaces one that has the new name already.
  const replaced = new Set(members.flatMap(({ key }) => otherName(renames, key) ?? []))
  const isEdited = ({ key }: Member): boolean =>
    drops.has(key) || replaced.has(key) || sets.has(key) || otherName(renames, key) !== undefined
  if (sets.size === 0 && !members.some(isEdited)) return bytes
  const parts: Bytes[] = []
  const add = (part: Bytes): void => {
    parts.push(parts.length === 0 ? OPEN : SEPARATOR, part)
  }
  let start = -1
  const addUnedited = (end: number): void => {
    if (start >= 0) add(bytes.subarray(start, end))
    start = -1
  }
  let end = 0
  for (const member of members) {
    if (!isEdited(member)) start = start < 0 ? member.start : start
    else {
      addUnedited(end)
      const { key, valueStart } = member
      const name = otherName(renames, key)
      const isKept = name !== undefined && !drops.has(key) && !sets.has(name)
      if (isKept) add(Buffer.concat([nameText(name), bytes.subarray(valueStart, member.end)]))
    }
    end = member.end
  }
  addUnedited(end)
  for (const text of sets.values()) add(Buffer.from(text))
  return Buffer.concat(parts.length === 0 ? [OPEN, CLOSE] : [...parts, CLOSE])
}

/** The new name of a member; undefined if it keeps its name. */
const otherName = (renames: CompiledEdits['renames'], key: string): string | undefined => {
  const name = renames.get(key)
  return name === key ? undefined : name
}

const OPEN = Buffer.from('{')
const SEPARATOR = Buffer.from(',')
const CLOSE = Buffer.from('}')
const nameText = (key: string): Bytes => Buffer.from(`${JSON.stringify(key)}:`)
const memberText = (key: string, value: Json): string =>
  `${JSON.stringify(key)}:${JSON.stringify(value)}`
