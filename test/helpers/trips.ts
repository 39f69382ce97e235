/** A prompt there and back: what became of it on its way to a target of another format, read there as its clients are read,
 *  and on its way home. What is not as it was is named by whoever left it out, or is excused here by a reason. */
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../engine/plugin.ts'
import type { Prompt } from '../../plugins/formats/hub.ts'
import { read, written } from './codec.ts'
import { type Asked, askedIn } from './facts.ts'
import { CHANGES, type Change } from './trip-changes.ts'
import { SAYINGS } from './trip-sayings.ts'
import type { Route, Way } from './trip-way.ts'

/** Models that can all that their format has words for. */
const ABLE: Readonly<Record<string, { readonly [trait: string]: Json }>> = {
  'anthropic-messages': { system_turns: true },
  'google-gemini': {
    ...{ thinking: 'budget', tool_media: true, media_resolution: true },
    ...{ mixed_tools: true, strict_tools: true, vertex: true },
  },
}

export interface Trip {
  readonly prompt: Prompt
  readonly lost: readonly string[]
  /** What was lost where nothing may be: in reading what this gateway wrote itself. */
  readonly unread: readonly string[]
}
/** Through all of these formats; undefined: one of them cannot take it, and says so. */
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
      // As JSON: what is sent, not what is shared with the prompt.
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

/** Loss -> facts that it names. */
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

/** Every reason there is. */
export const REASONS: readonly string[] = [...CHANGES, ...SAYINGS].map(({ reason }) => reason)

/** What is not as it was and that nothing excuses, in words. `used`: collects the reasons that were needed. */
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
/** One reason after another is granted to both sides, until they say the same. */
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
