/** YAML files that ship with the program. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { PROGRAM } from '../../../engine/config/plugins/program.ts'
import { isFields } from '../../../engine/kit.ts'
import type { Json } from '../../../engine/plugin.ts'

type Fields = { readonly [key: string]: Json }
export const fieldsOf = (value: Json | undefined): Fields => (isFields(value) ? value : {})

/** `file`: a path from the root of the program. */
export const shipped = (file: string): Fields =>
  fieldsOf(parse(readFileSync(join(PROGRAM, file), 'utf8'), { merge: true }) as Json)
