/** Encodes whole requests. */
import type { Json } from '../../../engine/plugin.ts'
import { subsetOf } from '../closed-schema.ts'
import { type Fields, isFields, omitUndefined } from '../fields.ts'
import { fitHints } from '../hub/cache-hint.ts'
import type { DroppedFields, TargetFacts, UpstreamRequest } from '../hub/codec.ts'
import { JSON_REQUEST, schemaRequest } from '../hub/form-request.ts'
import { type Prompt, reportPrevious } from '../hub/prompt.ts'
import { writeCachePoint } from './cache.ts'
import { DocumentNames } from './media.ts'
import { writeTurns } from './messages.ts'
import { writeSettings } from './settings.ts'
import { planThinking } from './thinking.ts'
import { writeToolConfig } from './tools.ts'

/** The provider refuses a request with more cache points. */
const MAX_CACHE_POINTS = 4

export const encodePrompt = (
  wholePrompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): UpstreamRequest => {
  const prompt = fitHints(wholePrompt, MAX_CACHE_POINTS, dropped)
  reportPrevious(prompt, dropped)
  const plan = planThinking(prompt, target, dropped)
  const context = { target, names: new DocumentNames(), dropped }
  const mayPrefill = target.traits.prefill !== false && !plan.isOn
  const { system, messages } = writeTurns(prompt.turns, context, mayPrefill)
  const form = writeForm(prompt, target, dropped)
  const systemBlocks = form.instructions ? [...system, { text: form.instructions }] : system
  const outputConfig = omitUndefined({ textFormat: form.textFormat, effort: plan.effort })
  return {
    path: pathOf(target.name, prompt.stream),
    body: omitUndefined({
      messages: withCache(messages, prompt, target, dropped) as Json,
      system: systemBlocks.length > 0 ? [...systemBlocks] : undefined,
      ...writeSettings(prompt.settings, plan, target, dropped),
      toolConfig: writeToolConfig(prompt, target, dropped),
      outputConfig: Object.keys(outputConfig).length > 0 ? outputConfig : undefined,
    }),
  }
}

/** The model is a part of the path, also an ARN with slashes. */
const pathOf = (model: string, isStream: boolean): string =>
  `/model/${encodeURIComponent(model)}/${isStream ? 'converse-stream' : 'converse'}`

/** A cache of the whole prompt ends after its last message. */
const withCache = (
  messages: readonly Fields[],
  { cache }: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): readonly Fields[] => {
  const point = writeCachePoint(cache, target, dropped)
  const last = messages.at(-1)
  if (point.length === 0 || !last) return messages
  return [...messages.slice(0, -1), { ...last, content: [...(last.content as Json[]), ...point] }]
}

interface FormRequest {
  readonly textFormat?: Fields
  /** Instructions for the system prompt. */
  readonly instructions?: string
}
const writeForm = (
  { form }: Prompt,
  { traits }: TargetFacts,
  dropped: DroppedFields,
): FormRequest => {
  if (!form) return {}
  if (form.type === 'json') return { instructions: JSON_REQUEST }
  const { name, description, schema, strict } = form
  const subset = subsetOf(schema)
  if (traits.structured !== false && subset.isEqual && isFields(schema)) {
    const jsonSchema = omitUndefined({ schema: JSON.stringify(subset.schema), name, description })
    return { textFormat: { type: 'json_schema', structure: { jsonSchema } } }
  }
  if (strict) dropped.add('form')
  return {
    instructions: schemaRequest(schema),
  }
}
