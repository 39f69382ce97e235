/** Every member of an SDK's request type, with bodies that hold a sample of it. Objects are visited
 *  once: a member of a type that occurs at several places is sampled at the first. */
import { readFileSync } from 'node:fs'
import { asList, asObject, asString, type LooseObject } from '../helpers/formats/loose-json.ts'
import { fileOf } from '../laws/sdk-schemas.ts'

/** A way into the schema: a property, an element of a list, or a value of a map. */
type Step = { readonly schema: LooseObject; readonly key: string }
export interface Member {
  /** `messages[].content[text].citations`. */
  readonly path: string
  /** The body with the member at each of its samples; without it, and with null in its place, where
   *  it is optional. */
  readonly samples: readonly LooseObject[]
  readonly without?: LooseObject
  readonly withNull?: LooseObject
}
type Variant = 0 | 1

/** Optional members without which an object says nothing. */
const TELLING = 'call_id schema parameters city image_url file_data parts text'.split(' ')
const GOOGLE_TELLING = 'name category threshold mimeType data fileUri'.split(' ')
const isEmpty = (value: unknown): boolean => /^(?:\[?\{\}\]?|\[\])$/.test(JSON.stringify(value))

/** Samples of members whose type alone gives no value that a provider takes. */
const NUMBERS: Readonly<Record<string, readonly [number, number]>> = {
  max_tokens: [4_000, 4_001],
  budget_tokens: [1_024, 1_025],
  temperature: [0.5, 0.6],
  top_p: [0.5, 0.6],
  topP: [0.5, 0.6],
  max_output_tokens: [1_000, 1_001],
}
const TEXTS: Readonly<Record<string, string>> = {
  url: 'https://example.com/1.png',
  image_url: 'https://example.com/1.png',
  file_url: 'https://example.com/1.pdf',
  fileUri: 'https://example.com/1.png',
  file_data: 'data:application/pdf;base64,JVBERi0x',
  data: 'aVZCT1J3MEs=',
  imageBytes: 'aVZCT1J3MEs=',
  encrypted_content: 'ZW5jcnlwdGVk',
  signature: 'c2lnbmF0dXJl',
  thoughtSignature: 'c2lnbmF0dXJl',
  media_type: 'image/png',
  mimeType: 'image/png',
  arguments: '{"a":1}',
  role: 'user',
}

/** A function of `allowed_tools`, in the shapes of both OpenAI formats. */
const chosenTool = (variant: Variant): LooseObject => {
  const name = variant === 0 ? 'sample0' : 'other'
  return { type: 'function', name, function: { name } }
}

export class Members {
  readonly #definitions: LooseObject
  readonly #root: LooseObject
  readonly #telling: ReadonlySet<string>

  /** `format`: the name of a schema of requests. */
  constructor(format: string) {
    const { $ref, definitions } = JSON.parse(readFileSync(fileOf(format), 'utf8'))
    this.#definitions = asObject(definitions)
    this.#telling = new Set([...TELLING, ...(format === 'google-gemini' ? GOOGLE_TELLING : [])])
    // The first branch is the one without a stream.
    this.#root = this.#branches({ $ref })[0] ?? {}
  }
  /** All members, in the order of their depth. */
  all(): readonly Member[] {
    const members: Member[] = []
    const visited = new Set<LooseObject>()
    const queue: { schema: LooseObject; steps: readonly Step[]; path: string }[] = [
      { schema: this.#root, steps: [], path: '' },
    ]
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { schema, steps, path } = next
      for (const branch of this.#branches(schema)) {
        const type = asObject(asObject(branch.properties).type).const
        const branchPath =
          typeof type === 'string' && path.endsWith(']') ? `${path.slice(0, -1)}${type}]` : path
        if (branch.type === 'array')
          queue.unshift({
            schema: asObject(branch.items),
            steps: [...steps, { schema: branch, key: '[]' }],
            path: `${path}[]`,
          })
        if (branch.properties === undefined || visited.has(branch)) continue
        visited.add(branch)
        for (const [key, property] of Object.entries(asObject(branch.properties))) {
          const below = [...steps, { schema: branch, key }]
          const memberPath = branchPath === '' ? key : `${branchPath}.${key}`
          const member = this.#member(memberPath, below, asObject(property), branch)
          if (member) members.push(member)
          queue.push({ schema: asObject(property), steps: below, path: memberPath })
        }
      }
    }
    return members
  }
  /** Undefined for a member with one value, which tells branches apart. */
  #member(
    path: string,
    steps: readonly Step[],
    property: LooseObject,
    owner: LooseObject,
  ): Member | undefined {
    const key = steps.at(-1)?.key ?? ''
    const values = this.#values(property, key)
    const isRequired = (asList(owner.required) as readonly unknown[]).includes(key)
    if (values.length < (isRequired ? 2 : 1)) return undefined
    const bodyOf = (value: unknown): LooseObject => asObject(this.#build(steps, value))
    return {
      path,
      samples: values.map(bodyOf),
      ...(!isRequired && { without: bodyOf(undefined), withNull: bodyOf(null) }),
    }
  }
  /** All values of a closed list, or two samples; each once. */
  #values(property: LooseObject, key: string): readonly unknown[] {
    const listed = this.#branches(property).flatMap(each =>
      Array.isArray(each.enum) ? each.enum : [],
    )
    const samples = [this.#sample(property, key, 0), this.#sample(property, key, 1), ...listed]
    const values = new Map(samples.map(each => [JSON.stringify(each), each]))
    return [...values.values()].filter(each => each !== null && !isEmpty(each))
  }
  /** A value of the first step's schema with `value` at the end of the steps. */
  #build(steps: readonly Step[], value: unknown): unknown {
    const [step, ...rest] = steps
    if (!step) return value
    if (step.key === '[]') return [this.#build(rest, value)]
    const { [step.key]: _, ...others } = asObject(this.#sample(step.schema, '', 0))
    const built = this.#build(rest, value)
    return built === undefined ? others : { ...others, [step.key]: built }
  }
  #resolve(schema: LooseObject): LooseObject {
    const name = decodeURIComponent(asString(schema.$ref)).split('/')[2]
    return name === undefined ? schema : this.#resolve(asObject(this.#definitions[name]))
  }
  /** The members of a union, those of its unions included. */
  #branches(schema: LooseObject): readonly LooseObject[] {
    const resolved = this.#resolve(schema)
    return Array.isArray(resolved.anyOf)
      ? asList(resolved.anyOf).flatMap(each => this.#branches(each))
      : [resolved]
  }
  #sample(schema: LooseObject, key: string, variant: Variant, depth = 0): unknown {
    const branches = this.#branches(schema).filter(each => each.type !== 'null')
    // The text of a union that has one: it is the simplest.
    const branch =
      branches.find(each => each.type === 'string' && !each.enum && !each.const) ??
      branches[0] ??
      {}
    if (branch.const !== undefined)
      return variant === 1 && branches[1]?.const !== undefined ? branches[1].const : branch.const
    if (Array.isArray(branch.enum)) {
      const list = branch.enum.filter(each => each !== null)
      return list[variant] ?? list[0]
    }
    const [type] = [branch.type].flat().filter(each => each !== 'null')
    if (type === 'string')
      return TEXTS[key] === undefined ? `sample${variant}` : (TEXTS[key] as string)
    if (type === 'number' || type === 'integer') return (NUMBERS[key] ?? [1, 2])[variant]
    if (type === 'boolean') return variant === 0
    if (type === 'array')
      return depth > 6 ? [] : [this.#sample(asObject(branch.items), key, variant, depth + 1)]
    const required = asList(branch.required) as readonly unknown[]
    const properties = Object.entries(asObject(branch.properties))
    if (properties.length === 0)
      return key === 'tools' ? chosenTool(variant) : { [`sample${variant}`]: 'sample' }
    return Object.fromEntries(
      properties
        .filter(([name]) => required.includes(name) || this.#telling.has(name))
        .map(([name, each]) => [name, this.#sample(asObject(each), name, variant, depth + 1)]),
    )
  }
}
