/** `settings.files`: sizes, quotas, free space, and where the bytes are. */
import { amountIn, DURATIONS, SIZES } from '../../engine/kit.ts'
import type { HostBase } from '../../engine/plugin.ts'
import { NO_QUOTA, type Quota } from './statements.ts'

export const PURPOSES = ['assistants', 'fine-tune', 'vision', 'batch', 'user_data'] as const
export type Purpose = (typeof PURPOSES)[number]

export interface FileSettings {
  /** `file:` is a folder of the data folder, `file:/PATH` another one, `s3://…` a bucket. */
  readonly store: string
  /** Credentials of the bucket. */
  readonly accessKey: string
  readonly secretKey: string
  /** Bytes of the largest file of each purpose. */
  readonly sizes: Readonly<Record<Purpose, number>>
  readonly quota: Quota
  /** Bytes that files may add to one request, encoded as base64. */
  readonly inlineLimit: number
  /** Percent of the file system that stay free. */
  readonly minFree: number
  /** ms that a file for batches is kept, unless its upload sets another time. */
  readonly batchLifetime: number
}

interface Section {
  readonly files?: {
    readonly store?: string
    readonly access_key?: string
    readonly secret_key?: string
    readonly sizes?: Readonly<Partial<Record<Purpose, string>>>
    readonly quota?: { readonly files?: number; readonly bytes?: string }
    readonly inline?: string
    readonly free?: number
    readonly keep_batch?: string
  }
}
const SIZE = '^[1-9][0-9]{0,5}(B|KiB|MiB|GiB)$'
const DEFAULTS = {
  store: 'file:',
  sizes: {
    assistants: '512MiB',
    'fine-tune': '1GiB',
    vision: '20MiB',
    batch: '200MiB',
    user_data: '512MiB',
  },
  inline: '32MiB',
  free: 5,
  keep_batch: '30d',
} as const

export const fileSettingsOf = (host: Pick<HostBase, 'section'>): FileSettings => {
  const files = host.section<Section>('settings').files ?? {}
  const sizes = { ...DEFAULTS.sizes, ...files.sizes }
  const sizeOf = (purpose: Purpose): number => amountIn(sizes[purpose], SIZES)
  return {
    store: files.store || DEFAULTS.store,
    accessKey: files.access_key ?? '',
    secretKey: files.secret_key ?? '',
    sizes: {
      assistants: sizeOf('assistants'),
      'fine-tune': sizeOf('fine-tune'),
      vision: sizeOf('vision'),
      batch: sizeOf('batch'),
      user_data: sizeOf('user_data'),
    },
    quota: {
      files: files.quota?.files ?? NO_QUOTA.files,
      bytes: files.quota?.bytes === undefined ? NO_QUOTA.bytes : amountIn(files.quota.bytes, SIZES),
    },
    inlineLimit: amountIn(files.inline ?? DEFAULTS.inline, SIZES),
    minFree: files.free ?? DEFAULTS.free,
    batchLifetime: amountIn(files.keep_batch ?? DEFAULTS.keep_batch, DURATIONS),
  }
}

const sizeSchema = (purpose: Purpose) => ({
  description: `Size limit of files with the purpose ${purpose}.`,
  type: 'string',
  pattern: SIZE,
  default: DEFAULTS.sizes[purpose],
  examples: [DEFAULTS.sizes[purpose]],
})
const object = (description: string, properties: object, example: object) => ({
  description,
  type: 'object',
  additionalProperties: false,
  properties,
  examples: [example],
})
export const FILES_SETTINGS = object(
  'Stored files: where they are, their sizes and quotas.',
  {
    store: {
      description:
        '`file:` is the folder files/ of the data folder; `file:/srv/files` is another folder; `s3://BUCKET/PREFIX?endpoint=URL&region=R` is a bucket.',
      type: 'string',
      pattern: '^(?:|file:(?:/.+)?|s3://.+)$',
      default: DEFAULTS.store,
      examples: ['file:/srv/files', 's3://files/tollgate?region=eu-central-1'],
    },
    access_key: {
      description: 'Access key id for a bucket.',
      type: 'string',
      examples: ['${AWS_ACCESS_KEY_ID}'],
    },
    secret_key: {
      description: 'Secret access key for a bucket.',
      type: 'string',
      format: 'password',
      examples: ['${AWS_SECRET_ACCESS_KEY}'],
    },
    sizes: object(
      'Size limits by purpose.',
      Object.fromEntries(PURPOSES.map(purpose => [purpose, sizeSchema(purpose)])),
      { batch: '100MiB' },
    ),
    quota: object(
      'The most that one account may store; without it there is no limit.',
      {
        files: {
          description: 'Number of files.',
          type: 'integer',
          minimum: 1,
          examples: [1000],
        },
        bytes: { description: 'Their size.', type: 'string', pattern: SIZE, examples: ['10GiB'] },
      },
      { files: 1000, bytes: '10GiB' },
    ),
    inline: {
      description: 'Bytes that the files which a request names may add to it, encoded as base64.',
      type: 'string',
      pattern: SIZE,
      default: DEFAULTS.inline,
      examples: ['16MiB'],
    },
    free: {
      description: 'Percent of the file system that stay free: uploads are refused below.',
      type: 'number',
      minimum: 0,
      maximum: 100,
      default: DEFAULTS.free,
      examples: [5],
    },
    keep_batch: {
      description: 'Lifetime of files for batches whose upload sets none; other files stay.',
      type: 'string',
      pattern: '^[1-9][0-9]{0,3}(?:h|d)$',
      default: DEFAULTS.keep_batch,
      examples: ['30d'],
    },
  },
  { sizes: { batch: '100MiB' }, quota: { bytes: '10GiB' } },
)
