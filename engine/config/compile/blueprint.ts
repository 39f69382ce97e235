/** The plain values from which a process compiles a snapshot; processes send them to each other. */
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
  /** Hash of the document, the plugins and the attached files. */
  readonly hash: string
  /** Folder of routes.yaml. */
  readonly root: string
  readonly document: Document
  readonly plugins: readonly Bundle[]
  /** Texts of the files that the document names (`format: file`), by path relative to `root`. */
  readonly files?: Readonly<Record<string, string>>
}
