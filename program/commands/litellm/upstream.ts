/** The upstream of a deployment: address, credentials, timeouts, headers, edits. */
import type { Json } from '../../../engine/plugin.ts'
import { isVariable, type LitellmSource, type Path, variable } from './source.ts'
import type { Provider } from './tables.ts'

/** Reads members of `litellm_params`, or of the credential that they name. */
export interface Params {
  readonly source: LitellmSource
  at(name: string): Path
}
/** Settings of all deployments without their own. */
export interface UpstreamDefaults {
  readonly timeout: number | undefined
  readonly streamTimeout: number | undefined
  readonly failures: number | undefined
  readonly cooldown: number | undefined
}
type Fields = { readonly [key: string]: Json }

/** Keys are in it as they are in the source: `hideSecrets` puts variables in their place.
 *  `model`: the name at the upstream, of which a region is taken off. */
export const upstreamOf = (
  params: Params,
  provider: Provider,
  defaults: UpstreamDefaults,
): Fields => {
  const { source, at } = params
  const text = (name: string) => source.text(at(name))
  const { preset, formats, base = '' } = provider
  const address = text('api_base') ?? text('base_url') ?? text('aws_bedrock_runtime_endpoint')
  const url = address === undefined ? provider.url : urlOf(address, base, preset)
  const isOther =
    provider.host !== undefined && address !== undefined && isElsewhere(address, provider.host)
  const cloud = cloudOf(params, provider)
  return {
    ...(preset !== undefined && !isOther && { preset }),
    ...(url !== undefined && { url }),
    ...(isOther
      ? { formats: ['openai-chat'] }
      : preset === undefined && formats && { formats: [...formats] }),
    // A preset that builds its address needs the name of the resource.
    ...(preset === 'azure' && { resource: 'resource' }),
    ...credentialsOf(params, provider),
    ...(preset === 'azure' && versionOf(params)),
    ...cloud,
    ...timeoutsOf(params, defaults),
    ...editsOf(params),
  }
}

/** A variable has its own fallback: the provider's address, or the sandbox. */
const urlOf = (address: string, base: string, preset: string | undefined): string => {
  if (isVariable(address)) {
    const fallback =
      preset === 'azure'
        ? 'https://resource.openai.azure.com'
        : base === ''
          ? 'sandbox:'
          : 'http://127.0.0.1:11434'
    return `${variable(address, fallback)}${base}`
  }
  const url = address.replace(/\/+$/, '')
  return variable(base !== '' && !url.endsWith(base) ? url + base : url)
}
const isElsewhere = (address: string, host: string): boolean => {
  const own = URL.parse(address)?.hostname
  return own !== undefined && own !== host && !own.endsWith(`.${host}`)
}

const versionOf = ({ source, at }: Params): Fields => {
  const version = source.text(at('api_version'))
  return version === undefined ? {} : { query: { 'api-version': variable(version, '2024-10-21') } }
}

const credentialsOf = (params: Params, provider: Provider): Fields => {
  const { source, at } = params
  const text = (name: string) => source.text(at(name))
  const key = text('api_key')
  if (key !== undefined) return { key }
  if (provider.credentials === 'aws') return awsOf(params)
  if (provider.credentials === 'google') return { auth: { google: googleOf(params) } }
  const token = provider.preset === 'azure' ? text('azure_ad_token') : undefined
  if (token !== undefined) return { key: token, auth: 'bearer' }
  if (provider.preset === 'azure' && source.peek(at('client_secret')) !== undefined) {
    const [tenant, client, secret] = ['tenant_id', 'client_id', 'client_secret'].map(text)
    return {
      auth: {
        azure: {
          tenant: variable(tenant ?? '', 'tenant'),
          client: variable(client ?? '', 'client'),
          secret: secret ?? '',
        },
      },
    }
  }
  return provider.env === undefined ? {} : { key: `os.environ/${provider.env}` }
}
/** Without keys LiteLLM takes those of the environment. */
const awsOf = ({ source, at }: Params): Fields => {
  const of = (name: string, env: string): string => source.text(at(name)) ?? `os.environ/${env}`
  const session = source.text(at('aws_session_token'))
  return {
    auth: {
      aws: {
        region: regionOf(source, at('aws_region_name')),
        service: 'bedrock',
        id: of('aws_access_key_id', 'AWS_ACCESS_KEY_ID'),
        secret: of('aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY'),
        ...(session !== undefined && { session }),
      },
    },
  }
}
const regionOf = (source: LitellmSource, path: Path): string =>
  variable(source.text(path) ?? 'os.environ/AWS_REGION_NAME', 'us-east-1')

/** The content of the key file, or the account of the machine. */
const googleOf = ({ source, at }: Params): string => {
  const text = source.text(at('vertex_credentials'))
  if (text === undefined || isVariable(text) || text.trimStart().startsWith('{'))
    return text ?? 'os.environ/GOOGLE_CREDENTIALS'
  return `\${file:${text}}`
}

/** Region and project, which fill the address of the preset. */
const cloudOf = ({ source, at }: Params, { region, project }: Provider): Fields => {
  if (region === 'aws_region_name') return { region: regionOf(source, at(region)) }
  if (region === undefined || project === undefined) return {}
  const id = source.text(at(project)) ?? 'os.environ/VERTEXAI_PROJECT'
  const place = source.text(at(region)) ?? 'os.environ/VERTEXAI_LOCATION'
  return {
    ...(place === 'global' && {
      url: 'https://aiplatform.googleapis.com/v1/projects/{project}/locations/global',
    }),
    region: variable(place, 'us-central1'),
    project: variable(id, 'project'),
  }
}

const timeoutsOf = ({ source, at }: Params, defaults: UpstreamDefaults): Fields => {
  const whole = source.number(at('timeout')) ?? defaults.timeout
  const stream = source.number(at('stream_timeout')) ?? defaults.streamTimeout
  const cooldown = source.number(at('cooldown_time')) ?? defaults.cooldown
  const { failures } = defaults
  const timeout = {
    ...(whole !== undefined && { first_byte: seconds(whole) }),
    ...(stream !== undefined && { first_content: seconds(stream) }),
  }
  const health = {
    ...(failures !== undefined && { failures }),
    ...(cooldown !== undefined && { eject: seconds(cooldown) }),
  }
  return {
    ...(Object.keys(timeout).length > 0 && { timeout }),
    ...(Object.keys(health).length > 0 && { health }),
  }
}
const seconds = (number: number): string =>
  Number.isInteger(number) ? `${number}s` : `${Math.round(number * 1_000)}ms`

/** Headers and edits of bodies. */
const editsOf = ({ source, at }: Params): Fields => {
  const organization = source.text(at('organization'))
  const set: Record<string, string> = {}
  if (organization !== undefined) set['openai-organization'] = organization
  for (const name of Object.keys(source.fields(at('extra_headers')))) {
    const value = source.text([...at('extra_headers'), name])
    if (value !== undefined) set[name.toLowerCase()] = value
  }
  const extra: Record<string, Json> = {}
  for (const name of Object.keys(source.fields(at('extra_body'))))
    extra[name] = source.take([...at('extra_body'), name]) ?? null
  const drop = source.list(at('additional_drop_params')).flatMap((name, index) => {
    const isPlain = typeof name === 'string' && /^\w+$/.test(name)
    if (isPlain) return [String(source.take([...at('additional_drop_params'), index]))]
    source.note(
      [...at('additional_drop_params'), index],
      'only whole members of a body can be dropped',
    )
    return []
  })
  const body = {
    ...(Object.keys(extra).length > 0 && { set: extra }),
    ...(drop.length > 0 && { drop }),
  }
  return {
    ...(Object.keys(set).length > 0 && { headers: { set } }),
    ...(Object.keys(body).length > 0 && { body }),
  }
}
