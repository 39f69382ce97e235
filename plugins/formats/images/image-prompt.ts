/** Reduces a conversation to one image request: a description and the source images. Pure. */
import { fault } from '../faults.ts'
import { type Fields, isFields } from '../fields.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import type { Content, Media } from '../hub/content.ts'
import { withoutUnsupportedTools } from '../hub/offered-tools.ts'
import { type HostedTool, type Prompt, reportPrevious, type Turn } from '../hub/prompt.ts'
import { unsupportedTool } from '../hub/unsupported-tool.ts'
import { parseDataUrl } from '../media/media.ts'

/** The maximum number of images in one request. */
export const MAX_IMAGES = 10

const IMAGE_TOOLS = {
  format: 'images',
  runs: ({ tool }: HostedTool): boolean => tool === 'image_generation',
}

/** Returns one user turn: its text, then the images to edit. Without images in the turn, the last
 *  generated image is edited. `traits.edits`: `false` if the target edits no images, `shown` if it
 *  edits only images that the user sends. */
export const toImagePrompt = (
  prompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): Prompt => {
  const { traits } = target
  reportDropped(withoutUnsupportedTools(prompt, IMAGE_TOOLS, target, dropped), dropped)
  checkCount(prompt.settings.candidates)
  const { turns } = prompt
  const lastIndex = turns.findLastIndex(({ role }) => role === 'user')
  const lastTurn = turns[lastIndex]
  if (!lastTurn) throw fault('MEMBER_VALUE', ['messages', 'no user message describes the image'])
  const turnImages = imagesOf(lastTurn)
  const [firstImage] = turnImages
  if (firstImage && traits.edits === false) throw unsupportedMedia(firstImage)
  const images =
    turnImages.length > 0 || traits.edits === false || traits.edits === 'shown'
      ? turnImages
      : lastGenerated(turns.slice(0, lastIndex))
  const describingTurns = turns.filter((turn, index) =>
    isDescription(turn, index === lastIndex, images.length > 0),
  )
  const text = describingTurns.map(textOf).filter(Boolean).join('\n')
  if (text === '') throw fault('MEMBER_VALUE', ['messages', 'no user message describes the image'])
  return { ...prompt, turns: [{ role: 'user', content: [{ type: 'text', text }, ...images] }] }
}
/** Earlier user turns are already part of the image that is edited; without an image they still
 *  belong to the description. */
const isDescription = ({ role }: Turn, isLast: boolean, hasSource: boolean): boolean =>
  role === 'system' || isLast || (role === 'user' && !hasSource)

/** The parameters of a reduced prompt. */
export const imageRequestOf = ({ turns, settings }: Prompt) => {
  const [turn] = turns
  const content = turn?.content ?? []
  const media = content.filter(each => each.type === 'media')
  const [mask, second] = media.filter(each => each.isMask)
  if (second) throw unsupportedMedia(second)
  return {
    text: content.map(each => (each.type === 'text' ? each.text : '')).join(''),
    images: media.filter(each => !each.isMask),
    ...(mask && { mask }),
    count: settings.candidates ?? 1,
  }
}

/** Splits 10 into batches of at most 6: 6, 4. */
export const batchSizes = (count: number, batchSize: number): readonly number[] => {
  const batches: number[] = []
  for (let remaining = count; remaining > 0; remaining -= batchSize)
    batches.push(Math.min(remaining, batchSize))
  return batches
}

/** Picks fields of the client's body. `response_format` may be the object of a chat request. */
export const pickFields = (body: Fields, names: ReadonlySet<string>): Fields => {
  const fields: { [key: string]: Fields[string] } = {}
  for (const key of names) {
    const value = body[key]
    if (value !== undefined && value !== null && key !== 'response_format') fields[key] = value
  }
  const format = imageFormatIn(body)
  if (format) fields.response_format = format
  return fields
}
/** How a request asks for its images. */
export const imageFormatIn = (body: Fields): 'url' | 'b64_json' | undefined => {
  const format = isFields(body.response_format) ? body.response_format.type : body.response_format
  return format === 'url' || format === 'b64_json' ? format : undefined
}

export const unsupportedMedia = ({ at = 'messages', kind }: Media) =>
  fault('CONTENT_UNSUPPORTED', [at, kind === 'image' ? 'an image' : `a ${kind}`], { param: at })

const MIME = /^image\/[a-z0-9.+-]{1,40}$/
/** An image as a file for a form. */
export const imageFileOf = (image: Media): { readonly bytes: Buffer; readonly type: string } => {
  const { source, kind } = image
  if (kind !== 'image' || source.type !== 'data' || !MIME.test(source.mime))
    throw unsupportedMedia(image)
  return { bytes: Buffer.from(source.data, 'base64'), type: source.mime }
}
/** A file name for a form: `image-1.png`. */
export const fileName = (stem: string, type: string): string =>
  `${stem}.${type.slice(6).replace(/[^a-z0-9].*/, '')}`

const checkCount = (count: number | undefined): void => {
  if (count === undefined || (Number.isInteger(count) && count >= 1 && count <= MAX_IMAGES)) return
  throw fault('MEMBER_VALUE', ['n', `expected an integer from 1 to ${MAX_IMAGES}`], {
    param: 'n',
  })
}
const SUPPORTED_SETTINGS: ReadonlySet<string> = new Set(['candidates', 'user', 'modalities'])
/** Settings that request nothing if they are false. */
const OFF_IF_FALSE: ReadonlySet<string> = new Set(['store', 'background', 'logprobs'])
const reportDropped = (prompt: Prompt, dropped: DroppedFields): void => {
  const { settings, tools, choice, form, thinking, body } = prompt
  for (const [name, value] of Object.entries(settings))
    if (!SUPPORTED_SETTINGS.has(name) && !(value === false && OFF_IF_FALSE.has(name)))
      dropped.add(name)
  for (const tool of tools) {
    if (tool.type === 'mcp' || (tool.type === 'hosted' && tool.tool !== 'image_generation'))
      throw unsupportedTool(tool)
    if (tool.type !== 'hosted') dropped.add('tools')
  }
  if (form && imageFormatIn(body) === undefined) dropped.add('form')
  if (thinking) dropped.add('thinking')
  // An image model generates an image whatever the choice.
  if (choice && choice.type !== 'none' && !tools.some(({ type }) => type === 'hosted'))
    dropped.add('choice')
  reportPrevious(prompt, dropped)
}

// ---------------------------------------------------------------- text and images of a turn

/** The URL excludes brackets, so that the match stays linear on a text full of `![`. */
const MARKDOWN = /!\[[^[\]\n]{0,200}\]\(((?:https?:\/\/|data:image\/)[^\s()[\]]+)\)/g

const textOf = ({ content }: Turn): string =>
  content
    .map(each => (each.type === 'text' ? each.text.replace(MARKDOWN, '').trim() : ''))
    .filter(Boolean)
    .join('\n')

const imagesOf = ({ content }: Turn): readonly Media[] => content.flatMap(imagesIn)
const imagesIn = (content: Content): readonly Media[] => {
  if (content.type === 'media') {
    if (content.kind !== 'image') throw unsupportedMedia(content)
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
const lastGenerated = (turns: readonly Turn[]): readonly Media[] => {
  for (const turn of turns.toReversed()) {
    const images = turn.role === 'system' ? [] : imagesOf(turn)
    if (images.length > 0) return images
  }
  return []
}
