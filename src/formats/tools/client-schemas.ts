import { unsayable } from '@/formats/invalid.ts'
import type { ClientTool } from '@/generation/tool.ts'
import { asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'

/** What a function must say of itself so that a model can call it. */
interface Declaration {
  description: string
  parameters: JsonObject
}

/**
 * The published declaration of a tool kind that vendors' models know by heart, for models that do not.
 * @throws GatewayError `unsupported_parameter` for a kind whose actions cannot be told to another model.
 */
export function clientDeclaration(tool: ClientTool): Declaration {
  const known = tool.kind === 'function' ? byWireType(tool) : byKind(tool)
  const described = asString(tool.wire['description'])
  return described === undefined ? known : { ...known, description: described }
}

/** Responses' kinds, which have no versioned type. */
function byKind(tool: ClientTool): Declaration {
  switch (tool.kind) {
    case 'local_shell':
      return LOCAL_SHELL
    case 'shell':
      return SHELL
    case 'apply_patch':
      return APPLY_PATCH
    case 'tool_search':
      return declarationOf(tool, 'Searches for tools that fit a task and makes them available.')
    case 'computer':
      throw unsayable('tools', `holds '${tool.wireType}', which the model behind this name does not have`)
    case 'function':
    case 'custom':
      return declarationOf(tool, `The tool ${tool.name}.`)
    default:
      return tool.kind satisfies never
  }
}

/** Anthropic's, whose wire types end in the date of their version. */
function byWireType(tool: ClientTool): Declaration {
  const type = tool.wireType
  if (type.startsWith('bash_')) return BASH
  if (type.startsWith('text_editor_')) return textEditor(type.slice('text_editor_'.length))
  if (type.startsWith('memory_')) return MEMORY
  // Gemini's computer calls functions of its own by names that only its models know.
  if (type.includes('_toolset_') || type === 'computerUse') {
    throw unsayable('tools', `holds '${type}', which the model behind this name does not have`)
  }
  if (type.startsWith('computer_')) return computer(tool)
  return declarationOf(tool, `The tool ${tool.name}.`)
}

/** The schema that the caller gave; any object where there is none. */
function declarationOf(tool: ClientTool, description: string): Declaration {
  const given = asObject(tool.wire['parameters']) ?? asObject(tool.wire['input_schema'])
  return { description, parameters: given ?? { type: 'object', properties: {} } }
}

function object(properties: Record<string, JsonValue>, required: string[]): JsonObject {
  return { type: 'object', properties, required }
}

function text(description: string): JsonObject {
  return { type: 'string', description }
}

function integer(description: string): JsonObject {
  return { type: 'integer', description }
}

function oneOf(...values: string[]): JsonObject {
  return { type: 'string', enum: values }
}

function listOf(type: 'string' | 'integer', description: string): JsonObject {
  return { type: 'array', items: { type }, description }
}

const LOCAL_SHELL: Declaration = {
  description: 'Runs a command on the local computer and returns its output.',
  parameters: object(
    {
      command: listOf('string', 'The program and its arguments.'),
      workdir: text('Directory to run the command in.'),
      timeout_ms: integer('Longest running time in milliseconds.'),
      env: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Environment variables to set.',
      },
    },
    ['command'],
  ),
}

const SHELL: Declaration = {
  description: 'Runs shell commands and returns their output.',
  parameters: object(
    {
      commands: listOf('string', 'Commands to run, in this order.'),
      timeout_ms: integer('Longest running time in milliseconds.'),
      max_output_length: integer('Most characters of output to return.'),
    },
    ['commands'],
  ),
}

const APPLY_PATCH: Declaration = {
  description: 'Creates, updates or deletes one file.',
  parameters: object(
    {
      type: oneOf('create_file', 'update_file', 'delete_file'),
      path: text('Path of the file.'),
      diff: text('V4A diff of the change: the whole content for a new file; none to delete one.'),
    },
    ['type', 'path'],
  ),
}

const BASH: Declaration = {
  description: 'Runs a command in a bash session that keeps its state between calls.',
  parameters: object(
    {
      command: text('The command to run. Required unless the session is being restarted.'),
      restart: { type: 'boolean', description: 'True to restart the session.' },
    },
    [],
  ),
}

const PATH = text('Absolute path of a file or directory.')
const VIEW_RANGE = listOf('integer', 'For view: first and last line to show, from 1; -1 is the end.')
const EDITS = {
  path: PATH,
  file_text: text('For create: content of the new file.'),
  old_str: text('For str_replace: text to replace, which must occur exactly once.'),
  new_str: text('For str_replace: text to put in its place.'),
  insert_line: integer('For insert: the line after which to insert; 0 is the start of the file.'),
  view_range: VIEW_RANGE,
}

/** Versions before April 2025 can undo, and call the inserted text `new_str`. */
function textEditor(version: string): Declaration {
  const old = version < '20250429'
  const commands = ['view', 'create', 'str_replace', 'insert', ...(old ? ['undo_edit'] : [])]
  const inserted = old ? {} : { insert_text: text('For insert: text to insert.') }
  const properties = { command: oneOf(...commands), ...EDITS, ...inserted }
  if (old) properties.new_str = text('For str_replace: the new text. For insert: text to insert.')
  return {
    description: 'Views, creates and edits text files.',
    parameters: object(properties, ['command', 'path']),
  }
}

const MEMORY: Declaration = {
  description: 'Keeps notes between conversations as files in the directory /memories.',
  parameters: object(
    {
      command: oneOf('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
      ...EDITS,
      insert_text: text('For insert: text to insert.'),
      old_path: text('For rename: path of the file.'),
      new_path: text('For rename: its new path.'),
    },
    ['command'],
  ),
}

const COMPUTER_2024 = [
  'key',
  'type',
  'mouse_move',
  'left_click',
  'left_click_drag',
  'right_click',
  'middle_click',
  'double_click',
  'screenshot',
  'cursor_position',
]
const COMPUTER_2025 = ['left_mouse_down', 'left_mouse_up', 'scroll', 'hold_key', 'wait', 'triple_click']

function computer(tool: ClientTool): Declaration {
  const newer = tool.wireType >= 'computer_20250124'
  const zoom = tool.wire['enable_zoom'] === true
  const actions = [...COMPUTER_2024, ...(newer ? COMPUTER_2025 : []), ...(zoom ? ['zoom'] : [])]
  const width = tool.wire['display_width_px']
  const height = tool.wire['display_height_px']
  const properties = {
    action: oneOf(...actions),
    coordinate: listOf('integer', 'x and y in pixels from the left upper corner.'),
    text: text('Text to type, or keys to press or hold (as in xdotool).'),
    ...(newer ? NEWER_COMPUTER : {}),
    ...(zoom ? { region: listOf('integer', 'For zoom: x0, y0, x1 and y1 of the part to show.') } : {}),
  }
  return {
    description: `Uses a computer by mouse, keyboard and screenshots. The screen has ${width} x ${height} pixels.`,
    parameters: object(properties, ['action']),
  }
}

const NEWER_COMPUTER = {
  start_coordinate: listOf('integer', 'For left_click_drag: x and y where the drag begins.'),
  duration: { type: 'number', description: 'For wait and hold_key: seconds.' },
  scroll_direction: oneOf('up', 'down', 'left', 'right'),
  scroll_amount: integer('For scroll: number of wheel clicks.'),
}
