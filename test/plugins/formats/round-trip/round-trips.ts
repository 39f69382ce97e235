/** Round trips of a prompt: encoded for a target of another format, decoded as a client's request,
 *  and back. Every difference must be reported as dropped or excused by a listed reason. */
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../../../engine/plugin.ts'
import type { TargetFacts } from '../../../../plugins/formats/hub/codec.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import { withoutUnsupportedTools } from '../../../../plugins/formats/hub/offered-tools.ts'
import type { Prompt, ToolChoice } from '../../../../plugins/formats/hub/prompt.ts'
import { type ClientNames, renameTools } from '../../../../plugins/formats/hub/tool-names.ts'
import {
  codecOf,
  collectDropped,
  decodePrompt,
  encodePrompt,
} from '../../../helpers/formats/codec.ts'
import { CHANGES, type Change } from './changes.ts'
import { CONVERSATION_REASONS } from './conversations.ts'
import { factsOf, type PromptFacts } from './prompt-facts.ts'
import type { Route, RouteResult } from './route.ts'

/** Traits of models that support everything that their format can express. */
const CAPABLE_TRAITS: Readonly<Record<string, { readonly [trait: string]: Json }>> = {
  'anthropic-messages': { system_turns: true, sampling: true },
  'google-gemini': {
    thinking: 'budget',
    tool_media: true,
    media_resolution: true,
    mixed_tools: true,
    strict_tools: true,
    vertex: true,
  },
}

export interface TripResult {
  readonly prompt: Prompt
  readonly dropped: readonly string[]
  /** Fields that were dropped while decoding the gateway's own encoding, which must not happen. */
  readonly droppedByUs: readonly string[]
}
/** Sends a prompt through these formats; undefined if one of them rejects it. */
export const sendThrough = (
  prompt: Prompt,
  formats: readonly string[],
  able: boolean,
): TripResult | undefined => {
  const dropped: string[] = []
  const unread: string[] = []
  let current = prompt
  try {
    for (const format of formats) {
      const traits = able ? (CAPABLE_TRAITS[format] ?? {}) : {}
      const target = { name: 'model', maxOutput: 65_536, traits }
      const fitted = fitPrompt(format, current, target)
      const request = encodePrompt(format, fitted.prompt, target)
      // Serialised, so that nothing is shared with the prompt.
      const clientRequest = decodePrompt(
        format,
        JSON.parse(JSON.stringify(request.body)),
        request.path,
      )
      dropped.push(...fitted.dropped, ...request.dropped)
      unread.push(...clientRequest.dropped)
      current = restoreNames(clientRequest.prompt, fitted.clientNames)
    }
  } catch (error) {
    if ((error as { status?: number }).status === 400) return undefined
    throw error
  }
  return { prompt: current, dropped: dropped, droppedByUs: unread }
}

/** The prompt with the tools and names that the target accepts. */
const fitPrompt = (format: string, prompt: Prompt, target: TargetFacts) => {
  const { tools: support } = codecOf(format)
  if (!support) throw new Error(`${format} has no tools`)
  const dropped = collectDropped()
  const supported = withoutUnsupportedTools(prompt, support, target, dropped)
  return { ...renameTools(supported, support.names), dropped: dropped.fields }
}
const restoreNames = (prompt: Prompt, names: ClientNames): Prompt => {
  const restore = (name: string): string => names.get(name)?.name ?? name
  const restoreContent = (content: Content): Content => {
    if (content.type === 'call') return { ...content, name: restore(content.name) }
    return content.type === 'result' && content.name !== undefined
      ? { ...content, name: restore(content.name) }
      : content
  }
  const { turns, tools, choice } = prompt
  return {
    ...prompt,
    turns: turns.map(turn => ({ ...turn, content: turn.content.map(restoreContent) })),
    tools: tools.map(tool => ('name' in tool ? { ...tool, name: restore(tool.name) } : tool)),
    ...(choice && { choice: restoreChoice(choice, restore) }),
  }
}
const restoreChoice = (choice: ToolChoice, restore: (name: string) => string): ToolChoice => {
  if (choice.type === 'tool') return { ...choice, name: restore(choice.name) }
  return choice.type === 'some' ? { ...choice, names: choice.names.map(restore) } : choice
}

/** Dropped field -> the facts that it accounts for. */
const FACTS_OF_FIELD: readonly (readonly [lost: RegExp, fact: RegExp])[] = [
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
  [/^form$/, /^form\.strict$/],
  [/^tools\[\d+\]/, /^tool\./],
  [/^format$/, /^tool\.grammar /],
  [/^schema\./, /^form\.schema$/],
  [/^parameters\./, /^tool\.schema /],
  [/^previous_response_id$/, /^previous\.answer$/],
  [/^conversation$/, /^previous\.conversation$/],
  [/^tools\[\d+\]\./, /^tool\.(type|tool|clientName) web_search$/],
  [/\.search_context_size$/, /^tool\.depth /],
  [/\.user_location$/, /^tool\.location /],
  [/\.max_uses$/, /^tool\.maxCalls /],
  [/(allowed|blocked)_domains$/, /^tool\.domains /],
]
const isReported = (fact: string, dropped: readonly string[]): boolean =>
  dropped.some(
    name =>
      fact === `settings.${name}` ||
      FACTS_OF_FIELD.some(([loss, facts]) => loss.test(name) && facts.test(fact)),
  )

/** All reasons. */
export const REASONS: readonly string[] = [...CHANGES, ...CONVERSATION_REASONS].map(
  ({ reason }) => reason,
)

/** Describes the differences that no reason excuses. `used`: collects the reasons that applied. */
export const unexcusedDifferences = (
  route: Route,
  before: Prompt,
  after: TripResult,
  usedReasons: Set<string>,
): string[] => {
  const [expected, actual] = [factsOf(before), factsOf(after.prompt)]
  const about = (expected.facts.get('media.context') ?? []) as readonly string[]
  const way = { ...route, dropped: after.dropped, descriptions: about }
  const changes = changesIn(expected, actual).filter(({ fact }) => !isReported(fact, after.dropped))
  const unexcusedChanges = changes.filter(change => {
    const reason = CHANGES.find(each => each.fact.test(change.fact) && each.applies(change, way))
    if (reason) usedReasons.add(reason.reason)
    return !reason
  })
  const lines = unexcusedChanges.map(
    each => `${each.fact}: ${toText(each.before)} -> ${toText(each.after)}`,
  )
  const [one, other] = applyReasons(way, expected.pieces, actual.pieces, usedReasons)
  if (!isDeepStrictEqual(one, other)) lines.push(`conversation: ${firstDifference(one, other)}`)
  return [...lines, ...after.droppedByUs.map(field => `not read: ${field}`)]
}
const toText = (value: Json | undefined): string =>
  JSON.stringify(value)?.slice(0, 200) ?? 'nothing'
const firstDifference = (expected: Pieces, actual: Pieces): string => {
  const at = expected.findIndex((piece, index) => !isDeepStrictEqual(piece, actual[index]))
  const place = at < 0 ? expected.length : at
  const tail = (pieces: Pieces) => JSON.stringify(pieces.slice(place, place + 3)).slice(0, 400)
  return `${tail(expected)} -> ${tail(actual)}`
}
const changesIn = (expected: PromptFacts, actual: PromptFacts): readonly Change[] =>
  [...new Set([...expected.facts.keys(), ...actual.facts.keys()])].flatMap(fact => {
    const [before, after] = [expected.facts.get(fact), actual.facts.get(fact)]
    return isDeepStrictEqual(before, after)
      ? []
      : [{ fact, before, after, source: expected.facts, result: actual.facts }]
  })
type Pieces = PromptFacts['pieces']
/** Applies the reasons one by one until both sides are equal. */
const applyReasons = (
  way: RouteResult,
  before: Pieces,
  after: Pieces,
  usedReasons: Set<string>,
): readonly [before: Pieces, after: Pieces] => {
  const appliedReasons: string[] = []
  let [expected, actual] = [before, after]
  for (const { reason, applies, normalise } of CONVERSATION_REASONS) {
    if (isDeepStrictEqual(expected, actual)) break
    if (!applies(way)) continue
    const both = [normalise(expected, way), normalise(actual, way)] as const
    if (!isDeepStrictEqual(both, [expected, actual])) appliedReasons.push(reason)
    ;[expected, actual] = both
  }
  if (isDeepStrictEqual(expected, actual)) for (const each of appliedReasons) usedReasons.add(each)
  return [expected, actual]
}
