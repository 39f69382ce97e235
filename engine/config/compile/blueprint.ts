/** All that a process needs to compile a snapshot: plain values, sent between processes. */
import type { Document } from '../../plugin.ts'

/** One plugin, bundled for import. */
export interface Bundle {
  readonly name: string
  /** For messages: relative to the folder of routes.yaml. */
  readonly file: string
  /** Absolute path of the bundle, named by the hash of its content. */
  readonly bundle: string
  readonly hash: string
}
export interface Blueprint {
  readonly version: number
  /** Hash of documents, plugins, and the files that they read. */
  readonly hash: string
  /** Folder of routes.yaml. */
  readonly root: string
  readonly document: Document
  readonly plugins: readonly Bundle[]
  /** Texts of the files that the document names (`format: file`), by path relative to `root`. */
  readonly files?: Readonly<Record<string, string>>
}
