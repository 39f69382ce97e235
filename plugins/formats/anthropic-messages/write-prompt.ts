/** A request for an upstream of this format. */
import type { Loss, Sent, TargetFacts } from '../codec.ts'
import type { Fields } from '../fields.ts'
import type { Prompt, Settings } from '../hub.ts'
import { writeCache } from './cache.ts'
import { FORM_TOOL, writeForm } from './form.ts'
import { calledName } from './names.ts'
import { MEMBERS, TIERS } from './settings.ts'
import { heldBack, measured } from './thinking.ts'
import { writeChoice, writeTools } from './tools.ts'
import { writeTurns } from './turns.ts'
import { textBlock } from './write-content.ts'

export const encodePrompt = (prompt: Prompt, target: TargetFacts, loss: Loss): Sent => {
  const { limit, thinking, effort, on } = measured(prompt, target, loss)
  const form = writeForm(prompt, target, on)
  const { system, messages } = writeTurns(
    prompt.turns,
    target,
    target.traits.prefill !== false && !on,
    loss,
  )
  if (prompt.before?.answer !== undefined) loss.drop('previous_response_id')
  if (prompt.before?.conversation !== undefined) loss.drop('conversation')
  const instructed = form.words === undefined ? system : [...system, textBlock(form.words)]
  const body: Fields = {
    model: target.name,
    max_tokens: limit,
    messages: [...messages],
    ...(instructed.length > 0 && { system: [...instructed] }),
    ...asked(prompt.settings, loss),
    ...offered(prompt, target, form.tool, loss),
    ...configured(form.format, effort),
    ...(thinking && { thinking }),
    ...writeCache(prompt),
    ...(prompt.stream && { stream: true }),
  }
  return { path: '/v1/messages', body: on ? heldBack(body, loss) : body }
}
const configured = (format: Fields | undefined, effort: string | undefined): Fields =>
  format || effort !== undefined
    ? { output_config: { ...(effort !== undefined && { effort }), ...(format && { format }) } }
    : {}

const offered = (
  prompt: Prompt,
  target: TargetFacts,
  answer: Fields | undefined,
  loss: Loss,
): Fields => {
  if (answer) return { tools: [answer], tool_choice: { type: 'tool', name: FORM_TOOL } }
  const tools = writeTools(prompt, target, loss)
  if (tools.length === 0) return remembered(prompt)
  const choice = writeChoice(prompt)
  return { tools: [...tools], ...(choice && { tool_choice: choice }) }
}

/** Calls of before name tools: they must be declared, even where none may be called any more. */
const remembered = ({ turns }: Prompt): Fields => {
  const names = new Set<string>()
  for (const { content } of turns)
    for (const each of content) if (each.type === 'call') names.add(calledName(each))
  if (names.size === 0) return {}
  const tools = [...names].map(name => ({ name, input_schema: { type: 'object' } }))
  return { tools, tool_choice: { type: 'none' } }
}

type Write = (value: never, loss: Loss) => Fields
/** Those that are more than a member of another name. */
const SPECIAL: Readonly<Partial<Record<keyof Settings, Write>>> = {
  limit: () => ({}), // measured together with what is thought
  parallel: () => ({}), // a part of the choice among tools
  temperature: (value: number, loss) => {
    if (value > 1) loss.drop('temperature')
    return { temperature: Math.min(Math.max(value, 0), 1) }
  },
  stops: (value: readonly string[], loss) => stopsOf(value, loss),
  user: (value: string) => ({ metadata: { user_id: value } }),
  tier: (value: string, loss) => {
    const own = TIERS.find(([hub]) => hub === value)?.[1]
    if (own === undefined) loss.drop('tier')
    return own === undefined ? {} : { service_tier: own }
  },
}
const stopsOf = (stops: readonly string[], loss: Loss): Fields => {
  // Blank ones are refused upstream.
  const kept = stops.filter(stop => stop.trim() !== '')
  if (kept.length < stops.length) loss.drop('stops')
  return kept.length > 0 ? { stop_sequences: kept } : {}
}

/** Values that ask for nothing: they are not lost where there is no name for them. */
const NEUTRAL: Readonly<Partial<Record<keyof Settings, (value: never) => boolean>>> = {
  candidates: (value: number) => value <= 1,
  frequencyPenalty: (value: number) => value === 0,
  presencePenalty: (value: number) => value === 0,
  logprobs: (value: boolean) => !value,
  alternatives: (value: number) => value === 0,
  store: (value: boolean) => !value,
  background: (value: boolean) => !value,
  modalities: (value: readonly string[]) => value.every(each => each.toLowerCase() === 'text'),
}

/** Plain settings under their names here. What has none is lost, and said. */
const asked = (settings: Settings, loss: Loss): Fields => {
  let body: Fields = {}
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined || value === null) continue
    const special = SPECIAL[name as keyof Settings]
    const member = (MEMBERS as Readonly<Record<string, string>>)[name]
    if (special) body = { ...body, ...special(value as never, loss) }
    else if (member !== undefined) body = { ...body, [member]: value }
    else if (!NEUTRAL[name as keyof Settings]?.(value as never)) loss.drop(name)
  }
  return body
}
