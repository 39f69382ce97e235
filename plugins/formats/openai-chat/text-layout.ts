/** The one text of an answer: generated images and programs that another provider ran are in it as
 *  Markdown, where clients of this format look for them. */
import type { HostedCall, Media } from '../hub/content.ts'
import { outputText, programOf } from '../hub/hosted-call-text.ts'
import { dataUrl } from '../media/media.ts'

/** Receives the parts of the text in order. */
export class TextLayout {
  /** The length so far, in UTF-16 units. */
  length = 0
  #endsLine = true
  #endsWithImage = false

  /** Returns the text to send. */
  text(text: string): string {
    return this.#add(text, false)
  }
  /** Consecutive images each get their own line. */
  media(media: Media): string {
    const address = markdown(media)
    return address === '' ? '' : this.#add((this.#endsWithImage ? '\n' : '') + address, true)
  }
  /** '' for other calls than those of code. */
  program(call: HostedCall): string {
    const program = programMarkdown(call)
    return program === '' ? '' : this.#add((this.#endsLine ? '' : '\n\n') + program, false)
  }
  #add(text: string, isImage: boolean): string {
    if (text === '') return ''
    this.length += text.length
    this.#endsLine = text.endsWith('\n')
    this.#endsWithImage = isImage
    return text
  }
}

const markdown = ({ kind, source, isBare }: Media): string => {
  const address = source.type === 'url' ? source.url : source.type === 'data' ? dataUrl(source) : ''
  if (isBare) return source.type === 'data' ? source.data : address
  return address === '' ? '' : `${kind === 'image' ? '!' : ''}[${kind}](${address})`
}
const programMarkdown = (call: HostedCall): string => {
  if (call.tool !== 'code_execution') return ''
  const { language, code } = programOf(call)
  const output = call.output === undefined ? '' : outputText(call.output)
  const printed = output === '' ? call.error : output
  return fenced(language, code) + (printed === undefined ? '' : fenced('output', printed))
}
/** The fence is longer than any in the text. */
const fenced = (name: string, text: string): string => {
  const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map(({ length }) => length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${name}\n${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${fence}\n`
}
