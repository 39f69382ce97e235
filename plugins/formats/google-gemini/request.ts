/** Decodes a client's request, and encodes one for an upstream of this format. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import { type Fields, isFields, omitUndefined } from '../fields.ts'
import type { CountFacts } from '../format.ts'
import { RequestObject, typeFault } from '../google/request-object.ts'
import type { DroppedFields, TargetFacts, UpstreamRequest } from '../hub/codec.ts'
import { type Prompt, reportPrevious, type Turn } from '../hub/prompt.ts'
import { TurnsReader } from './decode-messages.ts'
import { readChoice, readTools } from './decode-tools.ts'
import { writeTurns } from './encode-messages.ts'
import { writeTools } from './encode-tools.ts'
import { NAME } from './name.ts'
import { fitForm, readForm, readSettings, writeForm, writeSettings } from './settings.ts'
import { readThinking, writeThinking } from './thinking.ts'
import { traitsOf } from './traits.ts'

export { mediaIn } from './decode-messages.ts'
export { repairHistory } from './encode-messages.ts'

export const decodePrompt = (fields: Fields, path: string, dropped: DroppedFields): Prompt => {
  const body = new RequestObject(fields)
  const config = body.object('generationConfig')
  const form = config && readForm(config, dropped)
  const thinking = config && readThinking(config, dropped)
  const tools = readTools(body, dropped)
  const choice = readChoice(body, tools, dropped)
  const settings = readSettings(body, config)
  const turns = [
    ...readInstruction(body, dropped),
    ...cachedTurns(body),
    ...readConversation(body, dropped),
  ]
  config?.reportUnread(dropped)
  body.reportUnread(dropped, 'model', 'stream')
  return {
    turns,
    tools,
    settings,
    stream: isStreamed(path),
    includeUsage: true,
    body: fields,
    ...(choice && { choice }),
    ...(form && { form }),
    ...(thinking && { thinking }),
  }
}

/** Looks at the verb after the last colon of the path. */
const isStreamed = (path: string): boolean =>
  (path.split('?', 1)[0] ?? '').endsWith(':streamGenerateContent')

const readConversation = (body: RequestObject, dropped: DroppedFields): readonly Turn[] => {
  if (!body.has('contents')) throw fault('MEMBER_MISSING', ['contents'], { param: 'contents' })
  const reader = new TurnsReader(dropped)
  for (const content of body.objects('contents')) reader.read(content)
  return reader.turns
}

/** Clients send a content, a part, a list of either, or plain text. */
const readInstruction = (body: RequestObject, dropped: DroppedFields): readonly Turn[] => {
  const value = body.value('systemInstruction')
  if (value === undefined) return []
  const at = body.pathOf('systemInstruction')
  const reader = new TurnsReader(dropped)
  reader.read(new RequestObject({ role: 'system', parts: partsOf(value, at) }, at))
  return reader.turns.filter(({ content }) => content.length > 0)
}
const partsOf = (value: Json, at: string): readonly Json[] => {
  if (typeof value === 'string') return [{ text: value }]
  if (Array.isArray(value)) return value.flatMap(each => partsOf(each as Json, at))
  if (!isFields(value)) throw typeFault(at, 'an object')
  const { parts } = value
  if (parts === undefined || parts === null)
    return 'role' in value && !('text' in value) ? [] : [value]
  return Array.isArray(parts) ? parts : [parts as Json]
}

/** Cached content is a document that only Google can open; other targets reject it. */
const cachedTurns = (body: RequestObject): readonly Turn[] => {
  const file = body.text('cachedContent')
  if (file === undefined) return []
  const source = { type: 'file' as const, file, origin: NAME }
  const at = body.pathOf('cachedContent')
  return [{ role: 'user', content: [{ type: 'media', kind: 'document', source, at }] }]
}

/** The request of a token count: a whole request or its contents only. */
export const requestToCount = (fields: Fields): Fields => {
  const request = new RequestObject(fields).object('generateContentRequest')
  return request ? request.fields : fields
}

export const counting: CountFacts = {
  schema: {
    type: 'object',
    required: ['totalTokens'],
    properties: { totalTokens: { type: 'integer' } },
  },
  countedRequest: requestToCount,
  renameModel: (body, model) =>
    Object.fromEntries(
      Object.entries(body).map(([key, value]) =>
        REQUEST_MEMBERS.has(key) && isFields(value)
          ? [key, { ...value, model: `models/${model}` }]
          : [key, value],
      ),
    ),
  encodeCount: tokens => ({
    totalTokens: tokens,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }],
  }),
}
const REQUEST_MEMBERS: ReadonlySet<string> = new Set([
  'generateContentRequest',
  'generate_content_request',
])

/** The limit that is sent, which the model may have lowered. */
const limitOf = ({ maxOutputTokens: limit }: Fields): number | undefined =>
  typeof limit === 'number' ? limit : undefined

export const encodePrompt = (
  wholePrompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): UpstreamRequest => {
  const traits = traitsOf(target)
  const prompt = fitForm(wholePrompt, traits, dropped)
  const { form, thinking, settings } = prompt
  const { config, beside } = writeSettings(settings, target, traits, dropped)
  const generationConfig: Fields = {
    ...config,
    ...(form && writeForm(form, traits, dropped)),
    ...omitUndefined({
      thinkingConfig: thinking && writeThinking(thinking, traits, limitOf(config), dropped),
    }),
  }
  reportPrevious(prompt, dropped)
  const verb = prompt.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return {
    path: `/v1beta/models/${encodeURIComponent(target.name)}:${verb}`,
    body: omitUndefined({
      ...writeTurns(prompt, traits, dropped),
      ...writeTools(prompt, traits, dropped),
      generationConfig: Object.keys(generationConfig).length > 0 ? generationConfig : undefined,
      ...beside,
    }),
  }
}
