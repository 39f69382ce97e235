/** Blueprints: the plain values from which a process compiles a snapshot, and their JSON for other
 *  processes. Long parts, the sections of the document and the attached files, are named by
 *  digests, so that a process is sent only those that it does not have. */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { Document, Json } from '../../plugin.ts'

/** One plugin, bundled for import. */
export interface Bundle {
  readonly name: string
  /** For messages: relative to the folder of routes.yaml. */
  readonly file: string
  /** Absolute path of the bundle, named by the hash of its content. */
  readonly bundle: string
  readonly hash: string
  /** Names of the files beside it that it imports; plugins share them. */
  readonly chunks?: readonly string[]
  /** Whether the bundle is the script of all shipped plugins, which exports each by its name. */
  readonly isShipped?: boolean
  /** Whether it replaces a plugin of the program that has its name. */
  readonly isReplacement?: boolean
}
/** Absolute paths of the files of a bundle. */
export const pathsOf = ({ bundle, chunks = [] }: Bundle): readonly string[] => [
  bundle,
  ...chunks.map(name => join(dirname(bundle), name)),
]
export interface Blueprint {
  readonly version: number
  /** Hash of the document, the plugins and the attached files. */
  readonly hash: string
  /** Folder of routes.yaml. */
  readonly root: string
  /** Absolute path of the folder for texts that are costly to make. */
  readonly cacheFolder?: string
  readonly document: Document
  readonly plugins: readonly Bundle[]
  /** Where each route is defined, in the order of `routes:`. */
  readonly places?: readonly { readonly file: string; readonly line: number }[] | undefined
  /** Texts of the files that the document names (`format: file`), by path relative to `root`. */
  readonly files?: Readonly<Record<string, string>>
}

/** Freezes a value and everything in it. A frozen value holds frozen values only. */
export const freezeAll = <T extends Document | Json>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const each of Object.values(value)) freezeAll(each as Json)
  return Object.freeze(value)
}

/** The document and files of a blueprint as JSON texts, each named by its digest. */
export interface EncodedParts {
  /** Digests of the sections of the document, by name. */
  readonly sections: Readonly<Record<string, string>>
  /** Digest of the attached files. */
  readonly files: string
  /** The JSON texts by digest. A message leaves out those that its receiver has. */
  readonly texts: Readonly<Record<string, string>>
}
export interface EncodedBlueprint extends EncodedParts {
  /** JSON of the other members. */
  readonly rest: string
}
/** Values of parts by digest, frozen: versions share them. */
export type DecodedParts = ReadonlyMap<string, Json>

/** Returns a function to the parts of a document and its files. The text and digest of a frozen
 *  section, which never changes, are made once. */
export const createPartsEncoder = () => {
  const known = new WeakMap<object, Part>()
  const encode = (section: Json): Part => {
    if (!Object.isFrozen(section) || typeof section !== 'object' || section === null)
      return partOf(section)
    const part = known.get(section) ?? partOf(section)
    known.set(section, part)
    return part
  }
  return (document: Document, files: Readonly<Record<string, string>>): EncodedParts => {
    const sections = Object.entries(document).flatMap(([name, section]) =>
      section === undefined ? [] : [[name, encode(section)] as const],
    )
    const attached = partOf(files)
    return {
      sections: Object.fromEntries(sections.map(([name, { digest }]) => [name, digest])),
      files: attached.digest,
      texts: Object.fromEntries(
        [...sections.map(([, part]) => part), attached].map(({ digest, text }) => [digest, text]),
      ),
    }
  }
}
interface Part {
  readonly digest: string
  readonly text: string
}
const partOf = (value: Json | Readonly<Record<string, string>>): Part => {
  const text = JSON.stringify(value)
  return { digest: createHash('sha256').update(text).digest('base64url'), text }
}

export const encodeBlueprint = (blueprint: Blueprint, parts: EncodedParts): EncodedBlueprint => {
  const { document: _, files: __, ...rest } = blueprint
  return { ...parts, rest: JSON.stringify(rest) }
}
/** Throws if a part is neither in `texts` nor in `known`. */
export const decodeBlueprint = (
  { rest, sections, files, texts }: EncodedBlueprint,
  known: DecodedParts = new Map(),
): { readonly blueprint: Blueprint; readonly parts: DecodedParts } => {
  const parts = new Map<string, Json>()
  const decode = (digest: string): Json => {
    const text = texts[digest]
    const value = text === undefined ? known.get(digest) : freezeAll(JSON.parse(text) as Json)
    if (value === undefined) throw new Error(`a part of the blueprint is missing: ${digest}`)
    parts.set(digest, value)
    return value
  }
  const document = Object.fromEntries(
    Object.entries(sections).map(([name, digest]) => [name, decode(digest)]),
  )
  const attached = decode(files) as Readonly<Record<string, string>>
  const blueprint = { ...(JSON.parse(rest) as object), document, files: attached } as Blueprint
  return { blueprint, parts }
}

/** Without the texts that a process with `known` has. */
export const withoutTexts = <T extends EncodedParts>(encoded: T, known: EncodedParts): T => ({
  ...encoded,
  texts: filterTexts(encoded, digest => !Object.hasOwn(known.texts, digest)),
})
/** With the texts that `withoutTexts` left out. */
export const withTexts = <T extends EncodedParts>(encoded: T, known: EncodedParts): T => {
  const texts: Record<string, string> = { ...known.texts, ...encoded.texts }
  const used = new Set([...Object.values(encoded.sections), encoded.files])
  return { ...encoded, texts: filterTexts({ texts }, digest => used.has(digest)) }
}
const filterTexts = (
  { texts }: Pick<EncodedParts, 'texts'>,
  isIncluded: (digest: string) => boolean,
): EncodedParts['texts'] =>
  Object.fromEntries(Object.entries(texts).filter(([digest]) => isIncluded(digest)))
