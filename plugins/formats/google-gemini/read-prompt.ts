/** A client's request, read into the hub. */
import type { Json } from '../../../engine/plugin.ts'
import type { Loss } from '../codec.ts'
import { fault } from '../faults.ts'
import { type Fields, isFields } from '../fields.ts'
import type { Prompt, Turn } from '../hub.ts'
import { Given, wrong } from './given.ts'
import { NAME } from './name.ts'
import { History } from './read-content.ts'
import { readChoice, readTools } from './read-tools.ts'
import { readForm, readSettings } from './settings.ts'
import { readThinking } from './thinking.ts'

export const decodePrompt = (fields: Fields, path: string, loss: Loss): Prompt => {
  const body = new Given(fields)
  const config = body.object('generationConfig')
  const form = config && readForm(config, loss)
  const thinking = config && readThinking(config, loss)
  const tools = readTools(body, loss)
  const choice = readChoice(body, loss)
  const settings = readSettings(body, config)
  const turns = [...instruction(body, loss), ...cached(body), ...conversation(body, loss)]
  config?.rest(loss)
  body.rest(loss, 'model', 'stream')
  return {
    turns,
    tools,
    settings,
    stream: isStreamed(path),
    counts: true,
    body: fields,
    ...(choice && { choice }),
    ...(form && { form }),
    ...(thinking && { thinking }),
  }
}

/** The verb behind the last colon of the path. */
const isStreamed = (path: string): boolean =>
  (path.split('?', 1)[0] ?? '').endsWith(':streamGenerateContent')

const conversation = (body: Given, loss: Loss): readonly Turn[] => {
  if (!body.has('contents')) throw fault('MEMBER_MISSING', ['contents'], { param: 'contents' })
  const history = new History(loss)
  for (const content of body.objects('contents')) history.read(content)
  return history.turns
}

/** A content, a part, a list of them, or the text itself: clients write all of these. */
const instruction = (body: Given, loss: Loss): readonly Turn[] => {
  const given = body.raw('systemInstruction')
  if (given === undefined) return []
  const at = body.place('systemInstruction')
  const history = new History(loss)
  history.read(new Given({ role: 'system', parts: partsOf(given, at) }, at))
  return history.turns.filter(({ content }) => content.length > 0)
}
const partsOf = (given: Json, at: string): readonly Json[] => {
  if (typeof given === 'string') return [{ text: given }]
  if (Array.isArray(given)) return given.flatMap(each => partsOf(each as Json, at))
  if (!isFields(given)) throw wrong(at, 'an object')
  const { parts } = given
  if (parts === undefined || parts === null)
    return 'role' in given && !('text' in given) ? [] : [given]
  return Array.isArray(parts) ? parts : [parts as Json]
}

/** What Google keeps of the conversation: content that nobody else can open, and refused by whoever is asked to. */
const cached = (body: Given): readonly Turn[] => {
  const file = body.text('cachedContent')
  if (file === undefined) return []
  const source = { type: 'file' as const, file, origin: NAME }
  const at = body.place('cachedContent')
  return [{ role: 'user', content: [{ type: 'media', kind: 'document', source, at }] }]
}

/** The request whose tokens are to be counted: given whole, or as its contents alone. */
export const countedRequest = (fields: Fields): Fields => {
  const given = new Given(fields).object('generateContentRequest')
  return given ? given.fields : fields
}
