/** Results of a task: which of their members are files, and what the customer sees of them. */
import type { HostBase, Json } from '../../../engine/plugin.ts'
import { signedUrl } from '../../file-store/signed-url.ts'
import { mediaTypeOf } from '../../formats/media/media-type.ts'
import type { Copy, Fields, Task } from '../task.ts'

/** A file of a result as the upstream gave it. */
export interface Source extends Pick<Copy, 'result' | 'member'> {
  /** A URL, a data URL, or base64. */
  readonly text: string
}

const MEMBERS = ['url', 'cover_url', 'watermarked_url']
/** Some upstreams send the file itself. */
const DATA_MEMBER = 'b64_json'
const WEB_URL = /^https?:\/\//i
const DATA_URL = /^data:[^,]*;base64,/i
const BASE64 = /^[A-Za-z0-9+/_-]{64,}={0,2}$/
/** Characters of base64 that show what it is: a path may look like base64. */
const START = 1_400

export const isWebUrl = (text: string): boolean => WEB_URL.test(text)
/** The bytes of a source that is not a URL. */
export const dataOf = ({ text }: Source): Buffer =>
  Buffer.from(text.replace(DATA_URL, ''), 'base64')

export const sourcesIn = (results: readonly Json[]): readonly Source[] =>
  results.flatMap((each, result) => {
    const fields = each as Fields
    const files = MEMBERS.flatMap(member => {
      const text = fields[member]
      return typeof text === 'string' && isFile(text) ? [{ result, member, text }] : []
    })
    const text = fields[DATA_MEMBER]
    const isInline = typeof text === 'string' && text !== '' && !fields.url
    return isInline ? [{ result, member: 'url', text }, ...files] : files
  })
const isFile = (text: string): boolean =>
  WEB_URL.test(text) || DATA_URL.test(text) || (BASE64.test(text) && isMedia(text))
const isMedia = (text: string): boolean =>
  mediaTypeOf(Buffer.from(text.slice(0, START), 'base64')).type !== 'application/octet-stream'

/** The files that are not in the file store yet. */
export const missingSources = ({ results, copies }: Pick<Task, 'results' | 'copies'>) =>
  sourcesIn(results).filter(source => !copies.some(copy => isSame(copy, source)))
const isSame = (copy: Copy, source: Source): boolean =>
  copy.result === source.result && copy.member === source.member

/** The results without data that is in the file store. */
export const withoutData = (results: readonly Json[], copies: readonly Copy[]): readonly Json[] =>
  sourcesIn(results)
    .filter(source => !isWebUrl(source.text) && copies.some(copy => isSame(copy, source)))
    .reduce<readonly Json[]>((all, { result, member }) => {
      const { [DATA_MEMBER]: _, ...fields } = all[result] as Fields
      return all.with(result, { ...fields, [member]: '' })
    }, results)

/** The task as its customer sees it: no results before all of them are copied, and then URLs of the
 *  file store, which are valid for 24 hours from now. */
export const showTask = async (task: Task, host: HostBase, now = Date.now()): Promise<Task> => {
  if (task.isCopying) return { ...task, results: [] }
  let { results } = task
  for (const { result, member, file, name } of task.copies) {
    const url = await signedUrl(host, { id: file, filename: name }, now)
    results = results.with(result, { ...(results[result] as Fields), [member]: url })
  }
  return results === task.results ? task : { ...task, results }
}
