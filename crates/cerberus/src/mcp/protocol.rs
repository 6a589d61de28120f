//! The protocol in both its forms: sessions that begin with `initialize`, and requests that say everything themselves.
//!
//! This server answers at once and asks the client nothing, so all notifications and responses are ignored.

use serde_json::{Map, Value, json};

/// Versions of sessions, oldest first.
const WITH_INITIALIZE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The version in which every request carries what `initialize` said.
const SELF_CONTAINED: &str = "2026-07-28";

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

const INVALID_REQUEST: i32 = -32600;
const UNKNOWN_METHOD: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;
const UNKNOWN_RESOURCE: i32 = -32002;
const UNSUPPORTED_VERSION: i32 = -32022;

/// What a server offers.
pub trait McpServer {
    /// Who it is, and what it tells every client.
    fn description(&self) -> (Value, &'static str);
    fn answer(&self, request: ServerRequest) -> Result<Value, RequestError>;
    fn client(&mut self) -> &mut ClientForm;
}

/// What a client asks for, whatever the form.
pub enum ServerRequest<'a> {
    ListTools,
    CallTool { name: &'a str, arguments: Map<String, Value> },
    ListResources,
    ReadResource(&'a str),
}

pub enum RequestError {
    UnknownTool(String),
    UnknownResource(String),
    Failed(String),
}

/// How the client began.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum ClientForm {
    #[default]
    NotBegun,
    /// `initialize` was called.
    Session,
    /// Every request says everything.
    SelfContained,
}

struct ProtocolError {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl ProtocolError {
    fn new(code: i32, message: impl Into<String>) -> ProtocolError {
        ProtocolError { code, message: message.into(), data: None }
    }
}

/// The answer to a message; `None` if it needs none.
pub fn answer(server: &mut impl McpServer, message: Value) -> Option<Value> {
    let is_response = message.get("result").or(message.get("error")).is_some();
    let id = message.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64());
    let method = message["method"].as_str();
    let is_current = message["jsonrpc"] == "2.0";
    match (id, method) {
        (Some(id), Some(method)) if is_current => Some(match request(server, method, &message["params"]) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => {
                let mut told = json!({"code": error.code, "message": error.message});
                error.data.into_iter().for_each(|data| told["data"] = data);
                json!({"jsonrpc": "2.0", "id": id, "error": told})
            }
        }),
        (None, Some(_)) if is_current && message.get("id").is_none() => None,
        _ if is_current && is_response => None,
        _ => Some(json!({"jsonrpc": "2.0", "error": {"code": INVALID_REQUEST, "message": "Invalid request"}})),
    }
}

fn request(server: &mut impl McpServer, method: &str, params: &Value) -> Result<Value, ProtocolError> {
    let (about, instructions) = server.description();
    let capabilities = json!({"tools": {}, "resources": {}});
    if let ("initialize", Some(asked)) = (method, params["protocolVersion"].as_str()) {
        *server.client() = ClientForm::Session;
        let version = WITH_INITIALIZE.into_iter().find(|version| *version == asked);
        let version = version.unwrap_or(WITH_INITIALIZE[WITH_INITIALIZE.len() - 1]);
        return Ok(json!({
            "protocolVersion": version, "capabilities": capabilities, "serverInfo": about, "instructions": instructions,
        }));
    }
    let version = version(&params["_meta"])?;
    if version.is_none() && method == "ping" && *server.client() != ClientForm::SelfContained {
        return Ok(json!({}));
    }
    if version.is_none() && (method == "server/discover" || *server.client() != ClientForm::Session) {
        let missing = format!("_meta has no valid {VERSION_KEY} and {CAPABILITIES_KEY}");
        return Err(ProtocolError::new(INVALID_PARAMS, missing));
    }
    let is_self_contained = version == Some(SELF_CONTAINED);
    if method == "server/discover" {
        let versions = supported();
        return Ok(complete(json!({
            "supportedVersions": versions, "capabilities": capabilities, "instructions": instructions,
            "_meta": {SERVER_KEY: about},
        })));
    }
    if version.is_some() && *server.client() == ClientForm::NotBegun {
        *server.client() = ClientForm::SelfContained;
    }
    let result = match method {
        "ping" if !is_self_contained => return Ok(json!({})),
        // Some clients ask without having been offered any.
        "prompts/list" => json!({"prompts": []}),
        "resources/templates/list" => json!({"resourceTemplates": []}),
        _ => {
            let request = server_request(method, params)?;
            server.answer(request).map_err(|error| protocol_error(error, is_self_contained))?
        }
    };
    Ok(match is_self_contained {
        true => complete(result),
        false => result,
    })
}

fn server_request<'a>(method: &str, params: &'a Value) -> Result<ServerRequest<'a>, ProtocolError> {
    let text = |key: &str| {
        let missing = || ProtocolError::new(INVALID_PARAMS, format!("{method} needs {key}, a text"));
        params[key].as_str().ok_or_else(missing)
    };
    Ok(match method {
        "tools/list" => ServerRequest::ListTools,
        "resources/list" => ServerRequest::ListResources,
        "resources/read" => ServerRequest::ReadResource(text("uri")?),
        "tools/call" => {
            let arguments = match &params["arguments"] {
                Value::Object(arguments) => arguments.clone(),
                Value::Null => Map::new(),
                _ => return Err(ProtocolError::new(INVALID_PARAMS, "arguments is not an object")),
            };
            ServerRequest::CallTool { name: text("name")?, arguments }
        }
        _ => return Err(ProtocolError::new(UNKNOWN_METHOD, format!("unknown method: {method}"))),
    })
}

/// The version that a request carries, if it carries all that a self-contained one must.
fn version(meta: &Value) -> Result<Option<&'static str>, ProtocolError> {
    let (Some(asked), true) = (meta[VERSION_KEY].as_str(), meta[CAPABILITIES_KEY].is_object()) else { return Ok(None) };
    let unsupported = || ProtocolError {
        code: UNSUPPORTED_VERSION,
        message: "Unsupported protocol version".to_string(),
        data: Some(json!({"requested": asked, "supported": supported()})),
    };
    supported().into_iter().find(|version| *version == asked).map(Some).ok_or_else(unsupported)
}

fn supported() -> Vec<&'static str> {
    WITH_INITIALIZE.into_iter().chain([SELF_CONTAINED]).collect()
}

/// Nothing follows, and nobody may keep it for later.
fn complete(mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    if result.get("isError").is_none() {
        result["ttlMs"] = json!(0);
        result["cacheScope"] = json!("private");
    }
    result
}

fn protocol_error(error: RequestError, is_self_contained: bool) -> ProtocolError {
    match error {
        RequestError::UnknownTool(message) => ProtocolError::new(INVALID_PARAMS, message),
        RequestError::UnknownResource(message) if is_self_contained => ProtocolError::new(INVALID_PARAMS, message),
        RequestError::UnknownResource(message) => ProtocolError::new(UNKNOWN_RESOURCE, message),
        RequestError::Failed(message) => ProtocolError::new(INTERNAL, message),
    }
}
