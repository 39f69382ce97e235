/** Finds the media of a request, or of its outline, whose tokens its bytes do not bound: URLs, ids
 *  and files of the provider, stored prompts, and small or compressed media. Pure. */
import { cutSize, isOutline } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'
import { type Fields, isFields } from './fields.ts'

export type MediaKind = 'image' | 'video' | 'audio' | 'document'

/** A file of the gateway that a request names: it is sent in place of its name. */
export interface KnownFile {
  readonly mime: string
  /** Bytes as base64. */
  readonly size: number
}
type KnownFiles = ReadonlyMap<string, KnownFile>

export interface MediaReferences {
  /** The media that are elsewhere, one entry each. */
  readonly references: readonly MediaKind[]
  /** Images in the request, in bytes of base64: a small file may be a large picture. */
  readonly inlineImages: readonly number[]
  /** Documents in the request, which are compressed. */
  readonly inlineDocuments: number
  /** Whether the request continues something stored of unknown length, or names it. */
  readonly isOpenEnded: boolean
}

/** Members at the top of a request that stand for stored content. */
const STORED_MEMBERS = [
  'cachedContent',
  'cached_content',
  'previous_response_id',
  'previous_interaction_id',
  'conversation',
  'container',
  'environment',
  'continuation_token',
  'thread_id',
  'conversation_id',
  'assistant_id',
  'promptVariables',
] as const
/** Members at any depth that name content stored at the provider: containers, stores, skills and
 *  the environments of agents. The container of a tool may also be an object with files. */
const STORED_CONTENT =
  /^(?:container(?:_?ids?)?|(?:vector|data|file_?search)_?stores?(?:_?(?:ids?|names?))?|rag_?(?:corpus|corpora|file_?ids?)|(?:collection|library|knowledge_?base|skill)_?ids?|(?:from_?environment|environment_?id))$/i
/** Members without media: settings, schemas, arguments, and sources that an answer cited. */
const SKIPPED: ReadonlySet<string> = new Set([
  'model',
  'function',
  'functions',
  'functionDeclarations',
  'function_declarations',
  'input_schema',
  'inputSchema',
  'input_examples',
  'headers',
  'tool_choice',
  'toolConfig',
  'tool_config',
  'metadata',
  'response_format',
  'generationConfig',
  'generation_config',
  'text',
  'args',
  'arguments',
  'parameters',
  'response',
  'json',
  'annotations',
  'citations',
  'action',
  'results',
  'mcp_servers',
  'context_management',
])
/** Members that name one medium, such as `reference_audio`, `promptImage` or `image_tail`. Any
 *  words come before the noun: a false match only raises the hold. */
const NAMED_MEDIUM =
  '[a-z0-9_]*(?:image|video|audio|document|file|media|pdf|picture|frame|reference)s?(?:_?tail)?'
const MEDIUM = new RegExp(
  `^(?:${NAMED_MEDIUM}_?(?:url|uri|id|data)?s?|gcs_?uri|s3_?location|source)$`,
  'i',
)
const URL_MEMBERS: ReadonlySet<string> = new Set(['url', 'uri', 'urls'])
/** Lists whose items may be a medium by one member, such as `{url}`. */
const INPUTS = /^(?:inputs?|documents|query|queries|images?)$/
/** Bedrock names a stored prompt in place of a model. */
const PROMPT_MODEL = /^arn:[\w-]+:bedrock:[^:]*:[^:]*:prompt\//
const ID_MEMBER = new RegExp(`^(?:${NAMED_MEDIUM}_?ids?|file_?uris?)$`, 'i')
/** Parts that hold text alone. */
const TEXT_TYPES: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text'])
/** A message of Qwen's models may name files in place of its text. */
const FILE_ADDRESS = 'fileid://'
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i
const KINDS: readonly (readonly [kind: MediaKind, pattern: RegExp])[] = [
  ['video', /video/i],
  ['audio', /audio/i],
  ['document', /document|pdf|input_file|zip/i],
  ['image', /image|picture|frame|screenshot/i],
]
const ADDRESS_KINDS: typeof KINDS = [
  ['video', /\/\/(?:www\.)?youtu\.?be|\.(?:mp4|mov|webm|mkv|avi)\b/i],
  ['audio', /\.(?:wav|mp3|flac|ogg|m4a|opus)\b/i],
  ['image', /\.(?:png|jpe?g|gif|webp)\b/i],
]

interface Visit {
  readonly value: Json
  /** The member that holds the value, or its list. */
  readonly key: string
  readonly kind: MediaKind | undefined
}
/** Undefined: all media are as large as their bytes. `files`: known files, by the texts that name
 *  them. */
export const mediaReferencesIn = (
  body: Fields,
  files?: KnownFiles,
): MediaReferences | undefined => {
  const media = new FoundMedia(files, isOutline(body))
  const queue: Visit[] = []
  for (const key in body)
    if (!SKIPPED.has(key) && isNested(key, body[key]))
      queue.push({ value: body[key] as Json, key, kind: undefined })
  // Uses a list instead of recursion, because a request may be nested deeper than the stack.
  for (let next = queue.pop(); next; next = queue.pop()) media.visit(next, queue)
  media.isOpenEnded ||=
    STORED_MEMBERS.some(name => isNamed(body[name])) ||
    isStored(body.prompt, 'id') ||
    isStored(body.thread, 'id') ||
    namesPrompt(body.model) ||
    namesPrompt(body.modelId) ||
    isStored(body.thread, 'previous_message_id')
  return media.isEmpty ? undefined : media
}
/** Text is not a medium; most of a request is text. */
const isNested = (key: string, value: Json | undefined): boolean =>
  typeof value === 'string'
    ? MEDIUM.test(key) || STORED_CONTENT.test(key) || URL_MEMBERS.has(key)
    : typeof value === 'object' && value !== null
const isNamed = (value: Json | undefined): boolean =>
  (typeof value === 'string' && value !== '') || isFields(value)
export const namesPrompt = (model: Json | undefined): boolean =>
  typeof model === 'string' && PROMPT_MODEL.test(model)
const isStored = (value: Json | undefined, name: 'id' | 'previous_message_id'): boolean =>
  isFields(value) && typeof value[name] === 'string'

/** An item reference may leave out its type. */
const isBareReference = ({ id, type, role }: Fields, key: string): boolean =>
  key === 'input' && (type ?? role ?? null) === null && typeof id === 'string'

interface NameFacts {
  readonly isSkipped: boolean
  readonly isMedium: boolean
  readonly isStoredContent: boolean
  readonly kind: MediaKind | undefined
}
class FoundMedia implements MediaReferences {
  readonly #facts = new Map<string, NameFacts>()
  readonly #files: KnownFiles | undefined
  readonly #isOutline: boolean
  readonly references: MediaKind[] = []
  readonly inlineImages: number[] = []
  inlineDocuments = 0
  isOpenEnded = false

  constructor(files: KnownFiles | undefined, isOutline: boolean) {
    this.#files = files
    this.#isOutline = isOutline
  }
  get isEmpty(): boolean {
    return (
      this.references.length === 0 &&
      this.inlineImages.length === 0 &&
      this.inlineDocuments === 0 &&
      !this.isOpenEnded
    )
  }
  visit({ value, key, kind }: Visit, queue: Visit[]): void {
    if (typeof value === 'string') {
      if (this.#factsOf(key).isStoredContent) this.isOpenEnded ||= value !== ''
      else this.#add(key, value, kindOf(key) ?? kind, '')
      return
    }
    if (Array.isArray(value)) {
      for (const each of value) if (isNested(key, each)) queue.push({ value: each, key, kind })
      return
    }
    if (isFields(value)) this.#visitObject(value, key, kind, queue)
  }
  #visitObject(
    fields: Fields,
    key: string,
    inherited: MediaKind | undefined,
    queue: Visit[],
  ): void {
    const { type } = fields
    if (typeof type === 'string' && TEXT_TYPES.has(type)) return
    if (type === 'item_reference' || isBareReference(fields, key)) this.isOpenEnded = true
    // An image or a sound that an earlier answer made, by its id.
    if (type === 'image_generation_call' && !fields.result) this.references.push('image')
    if (key === 'audio' && typeof fields.id === 'string') this.references.push('audio')
    const mime = mimeIn(fields)
    const ownType = typeof type === 'string' ? this.#factsOf(type) : undefined
    const isBare = INPUTS.test(key) && Object.keys(fields).length === 1
    const holdsUrl = isBare || this.#factsOf(key).isMedium || ownType?.isMedium === true
    const kind = ownType?.kind ?? kindOf(mime) ?? this.#factsOf(key).kind ?? inherited
    for (const name in fields) {
      const value = fields[name] ?? null
      if (value === null) continue
      const { isSkipped, isMedium, isStoredContent, kind: ownKind } = this.#factsOf(name)
      if (isSkipped || (type === 'search_result' && name === 'source')) continue
      if (typeof value === 'object') queue.push({ value, key: name, kind })
      else if (typeof value !== 'string') continue
      else if (isStoredContent) this.isOpenEnded ||= value !== ''
      else if (isMedium) this.#add(name, value, ownKind ?? kind, mime)
      else if (URL_MEMBERS.has(name) && holdsUrl) this.#add('url', value, kind, mime)
      else if (name === 'content' && value.startsWith(FILE_ADDRESS))
        this.references.push('document')
      else if ((name === 'data' || name === 'bytes') && isBare)
        this.#addInline(this.#sizeOf(value), kind ?? 'image', mime)
      else if ((name === 'data' || name === 'bytes') && MEDIUM_DATA.test(key)) {
        if (ADDRESS.test(value.slice(0, 32))) this.#add('url', value, kind, mime)
        else this.#addInline(this.#sizeOf(value), kind, mime)
      }
    }
  }
  /** A request repeats few names and types. */
  #factsOf(name: string): NameFacts {
    const known = this.#facts.get(name)
    if (known) return known
    const facts = {
      // Arguments of calls are data of the model, and no media.
      isSkipped: SKIPPED.has(name) || name === 'input',
      isMedium: MEDIUM.test(name),
      isStoredContent: STORED_CONTENT.test(name),
      kind: kindOf(name),
    }
    this.#facts.set(name, facts)
    return facts
  }
  #add(name: string, value: string, kind: MediaKind | undefined, mime: string): void {
    if (value.startsWith('data:'))
      return this.#addInline(this.#sizeOf(value), kind, value.slice(5, 64))
    const file = this.#files?.get(value)
    if (file) return this.#addInline(file.size, kind ?? 'document', file.mime)
    const isReference = ADDRESS.test(value.slice(0, 32)) || name === 'url' || ID_MEMBER.test(name)
    if (isReference && value !== '')
      this.references.push(kindOf(mime) ?? kind ?? kindOfAddress(value) ?? 'document')
    else if (/_?data$/i.test(name))
      this.#addInline(this.#sizeOf(value), kind ?? kindOfData(name), mime)
  }
  #sizeOf(text: string): number {
    return (this.#isOutline ? cutSize(text) : undefined) ?? text.length
  }
  #addInline(size: number, inherited: MediaKind | undefined, mime: string): void {
    const kind = kindOf(mime) ?? inherited
    if (kind === 'image') this.inlineImages.push(size)
    else if (kind === 'document' && !TEXT_TYPE.test(mime)) this.inlineDocuments++
  }
}
/** Text is as long as its bytes. */
const TEXT_TYPE = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|jsonl|ndjson|xml|yaml)(?:[;,]|$))/
const MEDIUM_DATA = /^(?:source|inline_?data|image|document|video|audio|input_audio|file)$/i
const mimeIn = ({ mimeType, mime_type, media_type, format }: Fields): string => {
  const mime = mimeType ?? mime_type ?? media_type ?? format
  return typeof mime === 'string' ? mime : ''
}
/** A file of unknown kind may be compressed. */
const kindOfData = (name: string): MediaKind | undefined =>
  name === 'file_data' ? 'document' : undefined
const kindOfAddress = (address: string): MediaKind | undefined =>
  ADDRESS_KINDS.find(([, pattern]) => pattern.test(address.slice(0, 512)))?.[0]
const kindOf = (text: string): MediaKind | undefined =>
  text === '' ? undefined : KINDS.find(([, pattern]) => pattern.test(text))?.[0]
