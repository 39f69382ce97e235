/** Encodes a request for an upstream of this format. */
import type { DroppedFields, TargetFacts, UpstreamRequest } from '../codec.ts'
import { type Fields, omitUndefined } from '../fields.ts'
import type { Prompt } from '../hub.ts'
import { writeForm, writeSettings } from './settings.ts'
import { writeThinking } from './thinking.ts'
import { traitsOf } from './traits.ts'
import { writeTurns } from './write-content.ts'
import { writeTools } from './write-tools.ts'

export const encodePrompt = (
  prompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): UpstreamRequest => {
  const { turns, form, thinking, settings } = prompt
  const traits = traitsOf(target)
  const { config, beside } = writeSettings(settings, target, traits, dropped)
  const generationConfig: Fields = {
    ...config,
    ...(form && writeForm(form, traits, dropped)),
    ...omitUndefined({
      thinkingConfig: thinking && writeThinking(thinking, traits, settings.limit, dropped),
    }),
  }
  if (prompt.cache) dropped.add('cache_control')
  if (prompt.previous?.answer !== undefined) dropped.add('previous_response_id')
  if (prompt.previous?.conversation !== undefined) dropped.add('conversation')
  const verb = prompt.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return {
    path: `/v1beta/models/${encodeURIComponent(target.name)}:${verb}`,
    body: omitUndefined({
      ...writeTurns(turns, traits, dropped),
      ...writeTools(prompt, traits, dropped),
      generationConfig: Object.keys(generationConfig).length > 0 ? generationConfig : undefined,
      ...beside,
    }),
  }
}
