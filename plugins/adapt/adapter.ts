/** Adapts the requests to one upstream: path, query and body, by its options. */
import { isFields } from '../../engine/kit.ts'
import type { Attempt, Bytes } from '../../engine/plugin.ts'
import { type CompiledEdits, compileEdits, editBody } from '../conversion/body-edits.ts'
import { type Member, membersIn } from '../conversion/body-members.ts'
import { isFormBody } from '../formats/request-edits.ts'
import { MODEL } from '../slots.ts'
import { type Endpoint, type EndpointName, endpointAt, endpointNames } from './endpoints.ts'
import type { AdaptOptions, PathTemplate } from './options.ts'

export interface Adapter {
  /** Returns the members of the client's body that are dropped. */
  adapt(attempt: Attempt): readonly string[]
}

/** Undefined if the options change nothing. */
export const createAdapter = ({
  paths = {},
  query = {},
  body = {},
}: AdaptOptions): Adapter | undefined => {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [
    name,
    String(value),
  ])
  const generalEdits = compileEdits(body)
  const editsByEndpoint = new Map(
    endpointNames.flatMap((name): [EndpointName, CompiledEdits][] => {
      const edits = body[name] && compileEdits(body, body[name])
      return edits ? [[name, edits]] : []
    }),
  )
  const hasPaths = Object.keys(paths).length > 0
  const hasEdits = generalEdits !== undefined || editsByEndpoint.size > 0
  if (!hasPaths && !hasEdits && parameters.length === 0) return undefined
  return {
    adapt(attempt) {
      const { request } = attempt
      const [path = '', search = ''] = splitQuery(request.path)
      const endpoint = endpointAt(path)
      const template = paths[path] ?? (endpoint && paths[endpoint.name])
      const edits = (endpoint && editsByEndpoint.get(endpoint.name)) ?? generalEdits
      const body = new BodyReader(attempt)
      const newPath = template === undefined ? path : fill(template, path, endpoint, attempt, body)
      request.path = newPath + withParameters(search, parameters)
      if (!edits || !body.edit(edits)) return []
      const { outlined } = attempt.exchange.request
      const isInPath = (field: string): boolean => field === 'model' && namesModel(template)
      return isFields(outlined)
        ? [...edits.drops].filter(field => Object.hasOwn(outlined, field) && !isInPath(field))
        : []
    },
  }
}

const splitQuery = (path: string): readonly [path: string, search: string] => {
  const mark = path.indexOf('?')
  return mark < 0 ? [path, ''] : [path.slice(0, mark), path.slice(mark)]
}

const fill = (
  template: PathTemplate,
  path: string,
  endpoint: Endpoint | undefined,
  attempt: Attempt,
  body: BodyReader,
): string => {
  const text =
    typeof template === 'string' ? template : template[body.asksForStream ? 'stream' : 'plain']
  return text.replace(/\{(model|method)\}/g, (_, name) =>
    name === 'model'
      ? encodeURIComponent(modelOf(attempt, body))
      : (endpoint?.method ?? path.slice(path.lastIndexOf('/') + 1)),
  )
}

/** Whether the path names the model; the body then needs no `model`. */
const namesModel = (template: PathTemplate | undefined): boolean =>
  template !== undefined && JSON.stringify(template).includes('{model}')

/** The model's name at the upstream; direct calls name it in their body only. */
const modelOf = ({ target, exchange }: Attempt, body: BodyReader): string =>
  target.name ?? body.model ?? exchange.slots.get(MODEL)?.asked ?? ''

/** A parameter of the options replaces one of the request. */
const withParameters = (
  search: string,
  parameters: readonly (readonly [name: string, value: string])[],
): string => {
  if (parameters.length === 0) return search
  const all = new URLSearchParams(search)
  for (const [name, value] of parameters) all.set(name, value)
  return `?${all}`
}

/** The body of an attempt, if it is a JSON object in memory. */
class BodyReader {
  readonly #request: Attempt['request']
  #members: readonly Member[] | undefined
  constructor({ request }: Attempt) {
    this.#request = request
  }
  get model(): string | undefined {
    const value = this.#valueOf('model')
    return typeof value === 'string' ? value : undefined
  }
  get asksForStream(): boolean {
    return this.#valueOf('stream') === true
  }
  /** Returns false if no edit applies. */
  edit(edits: CompiledEdits): boolean {
    const bytes = this.#bytes
    const members = this.#read()
    const edited = bytes && members && editBody(bytes, members, edits)
    if (!edited || edited === bytes) return false
    this.#request.body = edited
    delete this.#request.headers['content-length']
    return true
  }
  get #bytes(): Bytes | undefined {
    const { body } = this.#request
    return body instanceof Uint8Array && !isFormBody(this.#request) ? body : undefined
  }
  #read(): readonly Member[] | undefined {
    const bytes = this.#bytes
    this.#members ??= bytes && membersIn(bytes)
    return this.#members
  }
  #valueOf(key: string): unknown {
    const member = this.#read()?.findLast(each => each.key === key)
    if (!member || !this.#bytes) return undefined
    const text = Buffer.from(this.#bytes.subarray(member.valueStart, member.end)).toString()
    try {
      return JSON.parse(text)
    } catch {
      return undefined
    }
  }
}
