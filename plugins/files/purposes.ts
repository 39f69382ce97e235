/** Which files each purpose takes, and the media type of each extension. Pure. */
import { PURPOSES, type Purpose } from '../file-store/settings.ts'
import { fault } from './faults.ts'

/** Extension -> media type. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['.pdf', 'application/pdf'],
  ['.txt', 'text/plain; charset=utf-8'],
  ['.json', 'application/json'],
  ['.jsonl', 'application/jsonl'],
  ['.csv', 'text/csv; charset=utf-8'],
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
  ['.webp', 'image/webp'],
])
const EXTENSIONS: Readonly<Record<Purpose, readonly string[]>> = {
  assistants: [...TYPES.keys()],
  'fine-tune': ['.jsonl'],
  vision: ['.png', '.jpg', '.jpeg', '.webp'],
  batch: ['.jsonl'],
  user_data: [...TYPES.keys()],
}
/** As messages name them. */
const USES: Readonly<Record<Purpose, string>> = {
  assistants: 'retrieval',
  'fine-tune': 'Fine-Tuning',
  vision: 'vision',
  batch: 'Batch',
  user_data: 'user data',
}

/** Clients compare the message, which has named these four since before `user_data` was taken. */
const NAMED = "'assistants', 'fine-tune', 'vision', 'batch'"

/** Throws PURPOSE_INVALID. */
export const purposeOf = (text: string): Purpose => {
  const purpose = PURPOSES.find(each => each === text)
  if (purpose) return purpose
  throw fault('PURPOSE_INVALID', [text.slice(0, 100), NAMED])
}
/** Throws a fault if files with this extension do not suit the purpose; undefined: any purpose. */
export const checkExtension = (extension: string, purpose: Purpose | undefined): void => {
  const extensions = EXTENSIONS[purpose ?? 'assistants']
  if (extensions.includes(extension)) return
  const use = USES[purpose ?? 'assistants']
  if (extensions.length === 1) throw fault('FORMAT_INVALID', [use])
  throw fault('EXTENSION_INVALID', [extension.slice(0, 100), use, extensions.join(', ')])
}
export const typeOf = (extension: string): string =>
  TYPES.get(extension) ?? 'application/octet-stream'
