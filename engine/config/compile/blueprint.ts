/** The plain values from which a process compiles a snapshot; processes send them to each other. */
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

/** Freezes a value and what it holds. What is frozen already holds nothing that is not. */
export const freezeAll = <T extends Document | Json>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const each of Object.values(value)) freezeAll(each as Json)
  return Object.freeze(value)
}

/** Returns a function to the JSON of a document. That of a frozen section, which never changes, is
 *  made once. */
export const createDocumentEncoder = (): ((document: Document) => string) => {
  const known = new WeakMap<object, string>()
  const encode = (section: Json): string => {
    if (!Object.isFrozen(section) || typeof section !== 'object' || section === null)
      return JSON.stringify(section)
    const text = known.get(section) ?? JSON.stringify(section)
    known.set(section, text)
    return text
  }
  return document => {
    const members = Object.entries(document).flatMap(([name, section]) =>
      section === undefined ? [] : `${JSON.stringify(name)}:${encode(section)}`,
    )
    return `{${members.join(',')}}`
  }
}
