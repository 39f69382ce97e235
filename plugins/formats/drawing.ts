/** From a conversation to one request for images: what is to be drawn, and which images it starts from. Pure. */
import type { Loss, TargetFacts } from './codec.ts'
import type { Content, Media } from './content.ts'
import { fault } from './faults.ts'
import { type Fields, isFields } from './fields.ts'
import type { Prompt, Turn } from './hub.ts'
import { parseDataUrl } from './media.ts'

/** Images that one request may ask for. */
export const MOST_IMAGES = 10

/** One user turn: its text, then the images that are changed. Where the client shows none, the last that was drawn is.
 *  `traits.edits`: `false` where the target changes none, `shown` where it changes none but those. */
export const reduced = (prompt: Prompt, { traits }: TargetFacts, loss: Loss): Prompt => {
  tellLosses(prompt, loss)
  judgeCount(prompt.settings.candidates)
  const { turns } = prompt
  const at = turns.findLastIndex(({ role }) => role === 'user')
  const now = turns[at]
  if (!now) throw fault('MEMBER_VALUE', ['messages', 'nobody says what is to be drawn'])
  const shown = imagesOf(now)
  const [first] = shown
  if (first && traits.edits === false) throw unsupported(first)
  const images =
    shown.length > 0 || traits.edits === false || traits.edits === 'shown'
      ? shown
      : lastDrawn(turns.slice(0, at))
  const said = turns.filter((turn, index) => isSaid(turn, index === at, images.length > 0))
  const text = said.map(wordsOf).filter(Boolean).join('\n')
  if (text === '') throw fault('MEMBER_VALUE', ['messages', 'nobody says what is to be drawn'])
  return { ...prompt, turns: [{ role: 'user', content: [{ type: 'text', text }, ...images] }] }
}
/** What was said before has become the image that is changed; without one it is still to be drawn. */
const isSaid = ({ role }: Turn, now: boolean, drawn: boolean): boolean =>
  role === 'system' || now || (role === 'user' && !drawn)

/** What a reduced prompt asks for. */
export const askedOf = ({ turns, settings }: Prompt) => {
  const [turn] = turns
  const content = turn?.content ?? []
  const shown = content.filter(each => each.type === 'media')
  const [mask, more] = shown.filter(each => each.mask)
  if (more) throw unsupported(more)
  return {
    text: content.map(each => (each.type === 'text' ? each.text : '')).join(''),
    images: shown.filter(each => !each.mask),
    ...(mask && { mask }),
    count: settings.candidates ?? 1,
  }
}

/** 10 by 6 = 6, 4. */
export const shares = (count: number, each: number): readonly number[] => {
  const parts: number[] = []
  for (let left = count; left > 0; left -= each) parts.push(Math.min(left, each))
  return parts
}

/** Members that the client's body sets; `response_format` may be the object that chat requests have. */
export const taken = (body: Fields, takes: ReadonlySet<string>): Fields => {
  const kept: { [key: string]: Fields[string] } = {}
  for (const key of takes) {
    const value = body[key]
    if (value !== undefined && value !== null && key !== 'response_format') kept[key] = value
  }
  const form = isFields(body.response_format) ? body.response_format.type : body.response_format
  if (form === 'url' || form === 'b64_json') kept.response_format = form
  return kept
}

export const unsupported = ({ at = 'messages', kind }: Media) =>
  fault('CONTENT_UNSUPPORTED', [at, kind === 'image' ? 'an image' : `a ${kind}`], { param: at })

const MIME = /^image\/[a-z0-9.+-]{1,40}$/
/** As a form carries it. */
export const fileOf = (image: Media): { readonly bytes: Buffer; readonly type: string } => {
  const { source, kind } = image
  if (kind !== 'image' || source.type !== 'data' || !MIME.test(source.mime))
    throw unsupported(image)
  return { bytes: Buffer.from(source.data, 'base64'), type: source.mime }
}
/** The name of a file of ours: `image-1.png`. */
export const fileName = (stem: string, type: string): string =>
  `${stem}.${type.slice(6).replace(/[^a-z0-9].*/, '')}`

const judgeCount = (count: number | undefined): void => {
  if (count === undefined || (Number.isInteger(count) && count >= 1 && count <= MOST_IMAGES)) return
  throw fault('MEMBER_VALUE', ['n', `it is a whole number from 1 to ${MOST_IMAGES}`], {
    param: 'n',
  })
}
const CARRIED: ReadonlySet<string> = new Set(['candidates', 'user', 'modalities'])
/** Where they are false they ask for nothing. */
const ASKING: ReadonlySet<string> = new Set(['store', 'background', 'logprobs'])
const tellLosses = (
  { settings, tools, choice, form, thinking, before, body }: Prompt,
  loss: Loss,
): void => {
  for (const [name, value] of Object.entries(settings))
    if (!CARRIED.has(name) && !(value === false && ASKING.has(name))) loss.drop(name)
  for (const tool of tools) {
    if (tool.type === 'hosted' && tool.tool !== 'image_generation')
      throw fault('TOOL_UNSUPPORTED', [tool.asked])
    if (tool.type !== 'hosted') loss.drop('tools')
  }
  if (form && taken(body, new Set()).response_format === undefined) loss.drop('form')
  if (thinking) loss.drop('thinking')
  // What draws is chosen in any case.
  if (choice && choice.type !== 'none' && !tools.some(({ type }) => type === 'hosted'))
    loss.drop('choice')
  if (before?.answer !== undefined) loss.drop('previous_response_id')
  if (before?.conversation !== undefined) loss.drop('conversation')
}

// ---------------------------------------------------------------- what a turn says and shows

/** No bracket stands in an address: a text of nothing but beginnings is read once. */
const MARKDOWN = /!\[[^[\]\n]{0,200}\]\(((?:https?:\/\/|data:image\/)[^\s()[\]]+)\)/g

const wordsOf = ({ content }: Turn): string =>
  content
    .map(each => (each.type === 'text' ? each.text.replace(MARKDOWN, '').trim() : ''))
    .filter(Boolean)
    .join('\n')

const imagesOf = ({ content }: Turn): readonly Media[] => content.flatMap(imagesIn)
const imagesIn = (content: Content): readonly Media[] => {
  if (content.type === 'media') {
    if (content.kind !== 'image') throw unsupported(content)
    return [content]
  }
  if (content.type !== 'text') return []
  return [...content.text.matchAll(MARKDOWN)].map(([, url = '']) => ({
    type: 'media',
    kind: 'image',
    source: parseDataUrl(url) ?? { type: 'url', url },
    at: 'messages',
  }))
}
const lastDrawn = (turns: readonly Turn[]): readonly Media[] => {
  for (const turn of turns.toReversed()) {
    const drawn = turn.role === 'system' ? [] : imagesOf(turn)
    if (drawn.length > 0) return drawn
  }
  return []
}
