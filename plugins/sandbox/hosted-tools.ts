/** Hosted tools of the sandbox: canned results of the tools that a provider runs itself. Pure. */
import type {
  Citation,
  Content,
  HostedCall,
  HostedToolName,
  Media,
} from '../formats/hub/content.ts'
import type { Tool } from '../formats/hub/prompt.ts'
import { colourImage } from './images.ts'

export interface ToolContext {
  /** The user's text. */
  readonly text: string
  /** The id of the answer, from which ids of calls are made. */
  readonly id: string
  /** The format of the answer: the origin of opaque references to pages. */
  readonly format: string
}
/** One call of each hosted tool that the request offers, and the image of an image tool. */
export const hostedContents = (
  tools: readonly Tool[],
  context: ToolContext,
): readonly (HostedCall | Media)[] => {
  const names = tools.flatMap(tool => (tool.type === 'hosted' ? [tool.tool] : []))
  return [...new Set(names)].flatMap((name, index): readonly (HostedCall | Media)[] => {
    if (name === 'image_generation') return [generatedImage(context.text)]
    const result = RESULTS[name](context)
    const id = `${context.id}${index}`
    return result ? [{ type: 'hostedCall', tool: name, id, ...result }] : []
  })
}
/** The pages and files that the calls found. */
export const sourcesOf = (contents: readonly Content[]): readonly Citation[] =>
  contents.flatMap(content => (content.type === 'hostedCall' ? (content.sources ?? []) : []))

type Result = Pick<HostedCall, 'input' | 'output' | 'sources'>
const RESULTS: Readonly<
  Record<Exclude<HostedToolName, 'image_generation'>, (context: ToolContext) => Result | undefined>
> = {
  web_search: context => ({ input: { query: queryOf(context) }, sources: [pageOf(context)] }),
  web_fetch: context => fetchedPage(context),
  url_context: context => fetchedPage(context),
  code_execution: () => ({ input: { code: 'print("sandbox")' }, output: 'sandbox\n' }),
  file_search: context => ({
    input: { queries: [queryOf(context)] },
    sources: [{ file: 'file-sandbox', title: 'sandbox.txt' }],
  }),
}

/** Characters of a search query. */
const QUERY_LENGTH = 80
const queryOf = ({ text }: ToolContext): string => text.slice(0, QUERY_LENGTH)
const pageOf = ({ format }: ToolContext, url = 'https://example.com/sandbox'): Citation => ({
  url,
  title: 'A page of the sandbox',
  payload: { origin: format, data: Buffer.from(`page ${url}`).toString('base64') },
})
/** Undefined if the user named no address. */
const fetchedPage = (context: ToolContext): Result | undefined => {
  const url = /https?:\/\/[^\s"'<>]+/.exec(context.text)?.[0]
  return url === undefined
    ? undefined
    : { input: { url }, output: 'A page of the sandbox.', sources: [pageOf(context, url)] }
}
const generatedImage = (text: string): Media => ({
  type: 'media',
  kind: 'image',
  source: { type: 'data', mime: 'image/png', data: colourImage(text).toString('base64') },
})
