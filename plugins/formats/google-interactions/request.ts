/** Decodes a client's request, and encodes one for an upstream of this format. */
import { type Fields, omitUndefined } from '../fields.ts'
import { RequestObject, valueFault } from '../google/request-object.ts'
import { namesAgent } from '../hosted-tools.ts'
import type { DroppedFields, TargetFacts, UpstreamRequest } from '../hub/codec.ts'
import { type Prompt, reportPrevious } from '../hub/prompt.ts'
import { cachedTurns, readInput, readInstruction } from './decode-messages.ts'
import { readForm, readSettings, readThinking } from './decode-settings.ts'
import { readChoice, readTools } from './decode-tools.ts'
import { writeTurns } from './encode-messages.ts'
import { writeForm, writeSettings, writeThinking } from './encode-settings.ts'
import { writeChoice, writeTools } from './encode-tools.ts'

export { isVideoPage } from '../google/media-source.ts'
export { placesIn } from './content.ts'

export const decodePrompt = (fields: Fields, _path: string, dropped: DroppedFields): Prompt => {
  const body = new RequestObject(fields)
  const config = body.object('generation_config')
  const turns = [...readInstruction(body), ...cachedTurns(body), ...readInput(body, dropped)]
  const tools = readTools(body, config, dropped)
  const choice = readChoice(config, tools, dropped)
  const { background, ...others } = readSettings(body, config, dropped)
  const agent = readAgent(body, { background, store: others.store })
  const settings = agent || background === undefined ? others : { ...others, background }
  const form = readForm(body, dropped)
  const thinking = config && readThinking(config)
  const previous = body.text('previous_interaction_id')
  const stream = body.flag('stream') ?? false
  config?.reportUnread(dropped)
  body.reportUnread(dropped, 'model', 'agent')
  return {
    turns,
    tools,
    settings,
    stream,
    includeUsage: true,
    body: fields,
    ...(agent && { agent }),
    ...(choice && { choice }),
    ...(form && { form }),
    ...(thinking && { thinking }),
    ...(previous !== undefined && { previous: { answer: previous } }),
  }
}

/** Only a stored agent runs in the background. */
const readAgent = (
  body: RequestObject,
  { background, store = true }: Stored,
): Fields | undefined =>
  namesAgent(body.fields)
    ? omitUndefined({
        agent_config: body.value('agent_config'),
        environment: body.value('environment'),
        continuation_token: body.value('continuation_token'),
        webhook_config: body.value('webhook_config'),
        background,
        store,
      })
    : undefined
interface Stored {
  readonly background: boolean | undefined
  readonly store: boolean | undefined
}
export const modelMember = (fields: Fields): string => (namesAgent(fields) ? 'agent' : 'model')
/** The refusal of a request that only targets of this format can serve. */
export const ownOnly = (fields: Fields): Error | undefined =>
  namesAgent(fields)
    ? valueFault('agent', 'agents are served by targets of this format only; name a model')
    : undefined

export const encodePrompt = (
  prompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): UpstreamRequest => {
  const { form, stream, settings } = prompt
  reportPrevious(prompt, dropped)
  const { config, beside } = writeSettings(settings, target, dropped)
  const generation_config = omitUndefined({
    ...config,
    ...writeThinking(prompt),
    tool_choice: writeChoice(prompt, dropped),
  })
  return {
    path: '/v1beta/interactions',
    body: omitUndefined({
      [prompt.agent ? 'agent' : 'model']: target.name,
      ...writeTurns(prompt, dropped),
      tools: writeTools(prompt.tools, dropped),
      generation_config: Object.keys(generation_config).length > 0 ? generation_config : undefined,
      response_format: form && writeForm(form),
      ...beside,
      stream: stream || undefined,
      ...prompt.agent,
    }),
  }
}
