/** All a process needs to compile a snapshot: plain values, sent between processes. */
import type { Document } from '../plugin.ts'

/** One plugin made ready to import. */
export interface Bundle {
  readonly name: string
  /** As an operator would name it, relative to the folder of routes.yaml. */
  readonly file: string
  /** Absolute path, named by its content. */
  readonly bundle: string
  readonly hash: string
}
export interface Blueprint {
  readonly version: number
  /** Of everything that counts: documents, plugins, files they read. */
  readonly hash: string
  /** Folder of routes.yaml. */
  readonly root: string
  readonly document: Document
  readonly plugins: readonly Bundle[]
  /** Texts of the files that the document names (`format: file`), by their path from `root`. */
  readonly files?: Readonly<Record<string, string>>
}
