/** The shipped catalogue, and the model names of the specification. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Document } from '../../../engine/plugin.ts'
import { Catalogue } from '../../../plugins/catalogue/catalogue.ts'
import type { Section } from '../../../plugins/catalogue/section.ts'
import { fakeHost } from '../../helpers/gateway/fake-exchange.ts'

const root = new URL('../../../', import.meta.url)
export const sectionsIn = (path: string) => parse(readFileSync(new URL(path, root), 'utf8'))
const models: Section = Object.assign(
  {},
  ...globSync('models/*.yaml', { cwd: root.pathname }).map(path => sectionsIn(path).models),
)
export const document: Document = { ...sectionsIn('routes.yaml'), models }
export const catalogue = new Catalogue(models, fakeHost())

// ------------------------------------------------ by hand, for a checkout without recordings

/** Text models of the specification. */
export const TEXT_MODELS: readonly string[] = [
  'gx-2.5-pro',
  'gx-2.5-flash',
  'gx-2.0-flash',
  'gx-1.5-pro',
  'gx-2.5-pro-preview',
  'gx-2.5-pro-preview-05-06',
  'gp-4o',
  'gp-4.1',
  'gp-4-gizmo-g-aB3',
  'gp-4o-gizmo-g-7',
  'cl-sonnet-4-5',
  'cl-sonnet-4-5-thinking',
  'cl-other-thinking',
  'o3-pro',
  'o3-deep-research-2025-06-26',
  'code-mini-latest',
  'multimodal-embedding-v1',
]
/** Image models: their limits are images. */
export const IMAGE_MODELS: readonly string[] = [
  'gp-4o-image',
  'dall-e-3',
  'flux-1.1-pro',
  'rc-v3',
  'rc-v3-svg',
]
/** Video models; the specification's decisions 1.3 and 1.9 list "the other vd models". */
export const VIDEO_MODELS: readonly string[] = [
  'vdq3',
  'vdq3-mix',
  'vdq3-pro',
  'vdq3-turbo',
  'vdq3-pro-fast',
  'vdq2',
  'vdq2-pro',
  'vdq2-turbo',
  'vdq2-pro-fast',
  'vdq1',
  'vdq1-classic',
  'vd2.0',
  'vd1.5',
]

// ---------------------------------------------------------------- from the specification itself

/** Undefined if it is not next to the recordings. */
export const specification = (folder = process.env.RECORDINGS): string | undefined => {
  if (folder === undefined || folder === '') return undefined
  const file = join(folder, '../reference/service-interface.md')
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

/** Words with the shape of a model name: purposes of files. */
const OTHERS: ReadonlySet<string> = new Set(['fine-tune'])
/** Placeholders in names of the specification, with an example. */
const OPEN: readonly (readonly [placeholder: string, example: string])[] = [['{GIZMO_ID}', 'g-aB3']]
/** Lower-case letters with a hyphen or a digit among them. */
const LIKE_A_MODEL = /^(?=.*[-\d])[a-z][a-z\d]*(?:[-.][a-zA-Z\d]+)*$/

/** Finds model names in a text: in backquotes, or as the `model` of a JSON example. */
export const modelsIn = (text: string): readonly string[] => {
  const inBackquotes = [...text.matchAll(/`([^`\s]+)`/g)].map(([, word = '']) => word)
  const inExamples = [...text.matchAll(/"model"\s*:\s*"([^"]+)"/g)].map(([, word = '']) => word)
  const whole = [...inBackquotes, ...inExamples].map(word =>
    OPEN.reduce((name, [placeholder, example]) => name.replace(placeholder, example), word),
  )
  return [...new Set(whole)].filter(word => LIKE_A_MODEL.test(word) && !OTHERS.has(word))
}
