/** Round trips of a prompt: encoded for a target of another format, decoded as a client's request,
 *  and back. Every difference must be reported as dropped or excused by a listed reason. */
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../engine/plugin.ts'
import type { Prompt } from '../../plugins/formats/hub.ts'
import { read, written } from './codec.ts'
import { type Asked, askedIn } from './facts.ts'
import { CHANGES, type Change } from './trip-changes.ts'
import { SAYINGS } from './trip-sayings.ts'
import type { Route, Way } from './trip-way.ts'

/** Traits of models that support everything that their format can express. */
const ABLE: Readonly<Record<string, { readonly [trait: string]: Json }>> = {
  'anthropic-messages': { system_turns: true },
  'google-gemini': {
    thinking: 'budget',
    tool_media: true,
    media_resolution: true,
    mixed_tools: true,
    strict_tools: true,
    vertex: true,
  },
}

export interface Trip {
  readonly prompt: Prompt
  readonly lost: readonly string[]
  /** Fields that were dropped while decoding the gateway's own encoding, which must not happen. */
  readonly unread: readonly string[]
}
/** Sends a prompt through these formats; undefined if one of them rejects it. */
export const through = (
  prompt: Prompt,
  formats: readonly string[],
  able: boolean,
): Trip | undefined => {
  const lost: string[] = []
  const unread: string[] = []
  let there = prompt
  try {
    for (const format of formats) {
      const traits = able ? (ABLE[format] ?? {}) : {}
      const sent = written(format, there, { output: 65_536, traits })
      // Serialised, so that nothing is shared with the prompt.
      const back = read(format, JSON.parse(JSON.stringify(sent.body)), sent.path)
      lost.push(...sent.lost)
      unread.push(...back.lost)
      there = back.prompt
    }
  } catch (thrown) {
    if ((thrown as { status?: number }).status === 400) return undefined
    throw thrown
  }
  return { prompt: there, lost, unread }
}

/** Dropped field -> the facts that it accounts for. */
const NAMES: readonly (readonly [lost: RegExp, fact: RegExp])[] = [
  [/^(thinking|reasoning_effort)$/, /^thinking\./],
  [/^(?:tool_)?choice$/, /^choice$/],
  [/^cache_control$/, /^(cache|turns\.cache|tool\.cache .*)$/],
  [/^citations$/, /^(turns\.citations|media\.cited)$/],
  [/^name$/, /^turns\.names$/],
  [/^filename$/, /^media\.name$/],
  [/^detail$/, /^media\.detail$/],
  [/^context$/, /^media\.context$/],
  [/^videoMetadata$/, /^media\.clip$/],
  [/^strict$/, /^tool\.strict /],
  [/^format$/, /^tool\.grammar /],
  [/^schema\./, /^form\.schema$/],
  [/^parameters\./, /^tool\.schema /],
  [/^previous_response_id$/, /^previous\.answer$/],
  [/^conversation$/, /^previous\.conversation$/],
  [/\.search_context_size$/, /^tool\.depth /],
  [/\.user_location$/, /^tool\.location /],
  [/\.max_uses$/, /^tool\.maxCalls /],
  [/(allowed|blocked)_domains$/, /^tool\.domains /],
]
const isNamed = (fact: string, lost: readonly string[]): boolean =>
  lost.some(
    name =>
      fact === `settings.${name}` ||
      NAMES.some(([loss, facts]) => loss.test(name) && facts.test(fact)),
  )

/** All reasons. */
export const REASONS: readonly string[] = [...CHANGES, ...SAYINGS].map(({ reason }) => reason)

/** Describes the differences that no reason excuses. `used`: collects the reasons that applied. */
export const unexcused = (
  route: Route,
  before: Prompt,
  after: Trip,
  used: Set<string>,
): string[] => {
  const [left, right] = [askedIn(before), askedIn(after.prompt)]
  const about = (left.facts.get('media.context') ?? []) as readonly string[]
  const way = { ...route, lost: after.lost, about }
  const changes = changesIn(left, right).filter(({ fact }) => !isNamed(fact, after.lost))
  const found = changes.filter(change => {
    const reason = CHANGES.find(each => each.fact.test(change.fact) && each.holds(change, way))
    if (reason) used.add(reason.reason)
    return !reason
  })
  const words = found.map(each => `${each.fact}: ${shown(each.before)} -> ${shown(each.after)}`)
  const [one, other] = granted(way, left.said, right.said, used)
  if (!isDeepStrictEqual(one, other)) words.push(`said: ${differing(one, other)}`)
  return [...words, ...after.unread.map(field => `not read: ${field}`)]
}
const shown = (value: Json | undefined): string => JSON.stringify(value)?.slice(0, 200) ?? 'nothing'
const differing = (left: Said, right: Said): string => {
  const at = left.findIndex((piece, index) => !isDeepStrictEqual(piece, right[index]))
  const place = at < 0 ? left.length : at
  const tail = (said: Said) => JSON.stringify(said.slice(place, place + 3)).slice(0, 400)
  return `${tail(left)} -> ${tail(right)}`
}
const changesIn = (left: Asked, right: Asked): readonly Change[] =>
  [...new Set([...left.facts.keys(), ...right.facts.keys()])].flatMap(fact => {
    const [before, after] = [left.facts.get(fact), right.facts.get(fact)]
    return isDeepStrictEqual(before, after)
      ? []
      : [{ fact, before, after, asked: left.facts, got: right.facts }]
  })
type Said = Asked['said']
/** Applies the reasons one by one until both sides are equal. */
const granted = (
  way: Way,
  before: Said,
  after: Said,
  used: Set<string>,
): readonly [before: Said, after: Said] => {
  const needed: string[] = []
  let [left, right] = [before, after]
  for (const { reason, where, grant } of SAYINGS) {
    if (isDeepStrictEqual(left, right)) break
    if (!where(way)) continue
    const both = [grant(left, way), grant(right, way)] as const
    if (!isDeepStrictEqual(both, [left, right])) needed.push(reason)
    ;[left, right] = both
  }
  if (isDeepStrictEqual(left, right)) for (const each of needed) used.add(each)
  return [left, right]
}
