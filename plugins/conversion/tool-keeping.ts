/** Whether a target gets the tools of a request that providers run or know: translation leaves out
 *  those that the target's format does not have. */
import type { Exchange, Host, Json, Target } from '../../engine/plugin.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import type { Format } from '../formats/format.ts'
import type { DroppedFields, ToolSupport } from '../formats/hub/codec.ts'
import { withoutUnsupportedTools } from '../formats/hub/offered-tools.ts'
import { isRunByProvider, type Prompt } from '../formats/hub/prompt.ts'
import { targetFormatsOf } from '../formats/reachability.ts'
import { supportedFormats, supportsFormat } from '../formats/supported-formats.ts'

const NO_REPORT: DroppedFields = { add() {} }

export class ToolKeeping {
  readonly #format: Format | undefined
  readonly #upstreams: Host['upstreams']
  readonly #targetFormats: ReturnType<typeof targetFormatsOf>
  /** `format`: that of the route's clients. Undefined: their bytes pass. */
  constructor(host: Host, format: Format | undefined) {
    this.#format = format
    this.#upstreams = host.upstreams
    this.#targetFormats = targetFormatsOf(host)
  }
  /** Whether a target gets tools of the request that providers run or know. Decodes the prompt if
   *  no target has the client's format. */
  reachesTarget({ targets, request }: Pick<Exchange, 'targets' | 'request'>, body: Json): boolean {
    if (!isFields(body)) return false
    const { codec, name } = this.#format ?? {}
    if (!codec || name === undefined) return true
    if (targets.some(target => supportsFormat(this.#formatsOf(target), name))) return true
    try {
      const prompt = codec.decodePrompt(body as Fields, request.path, NO_REPORT)
      return targets.some(target => this.#getsTools(target, prompt))
    } catch {
      // The translation refuses it.
      return true
    }
  }
  /** Whether a target may get another format than the client's, in which members are dropped. */
  needsTranslation({ targets }: Pick<Exchange, 'targets'>): boolean {
    const { name } = this.#format ?? {}
    return name === undefined || targets.some(each => !supportsFormat(this.#formatsOf(each), name))
  }
  #formatsOf(target: Target): readonly string[] {
    return supportedFormats(target, this.#upstreams[target.upstream])
  }
  #getsTools(target: Target, prompt: Prompt): boolean {
    return this.#formatsOf(target).some(name => {
      const support = this.#targetFormats.get(name)?.codec.tools
      return support !== undefined && hasProviderTools(prompt, support, target)
    })
  }
}
const hasProviderTools = (
  prompt: Prompt,
  support: ToolSupport,
  { name = '', traits = {} }: Target,
): boolean => {
  try {
    const { tools } = withoutUnsupportedTools(prompt, support, { name, traits }, NO_REPORT)
    return tools.some(isRunByProvider)
  } catch {
    return false
  }
}
